// SPDX-License-Identifier: Apache-2.0
// Random expressions over the names of contexts.mjs: mostly of fitting types, now and then not.

const NUMBERS = [
  "0", "1", "2", "3", "7", "12", "-1", "-3", "- 2", "+4", "0.5", "1.5", "2.0", "0.0", "-0", "-0.0", "10", "007", "100.25",
  "1000000000000000000000", "9007199254740993", "0.0000001", "123456789.125", "4294967296", "0.1", "3.7",
];
const STRINGS = [
  "''", "'a'", '"b"', "'Hello World'", "'  pad\\t'", "'a,b,,c'", "'12'", "'-3.7x'", "' 42 '", "'0x1F'", "'Infinity'", "'ABC'",
  "'it\\'s'", '"q\\"q"', "'l1\\nl2\\n\\nl4'", "'tab\\there'", "'\\\\'", "'é'", "'😀x'", "'x' \"y\"", "'1.0'", "'true'", "'1e3'",
  "'.5'", "'5.'", "'a b  c '", "'aXbXc'", "'{{'", "'%}'", "'}}'", "'k'", "'length'", "'zz top'", "'foo_bar-baz qux'",
  "'\\v\\f\\b\\r'", "'aaa'", "'\u00a0nb\u3000'", "'\u2028'", "'-'", "'None'",
];
const INT_NAMES = ["n", "half", "neg", "zero", "big", "W"];
const NUM_NAMES = ["n", "f", "tiny", "e21", "neg", "whole", "nf"];
const STR_NAMES = ["name", "empty", "text", "uni", "words"];
const LIST_NAMES = ["lst", "nest", "strs", "mixed", "emptyl", "objs", "pairs", "flags", "floats"];
const OBJ_NAMES = ["obj", "emptyo", "deep", "idx"];
const BOOL_NAMES = ["yes", "no", "true", "false", "True", "False"];
const OTHER_NAMES = ["nul", "none", "None", "missing", "undef", "range", "namespace"];

const BARE_FILTERS = [
  "abs", "bool", "capitalize", "default", "dictsort", "first", "float", "get", "indent", "int", "items", "join", "keys", "last",
  "length", "list", "lower", "map", "reverse", "safe", "sort", "string", "title", "tojson", "trim", "unique", "upper", "values",
  "selectattr", "replace", "nosuch",
];
const TESTS = [
  "boolean", "callable", "odd", "even", "true", "false", "none", "string", "number", "integer", "iterable", "mapping", "sequence",
  "lower", "upper", "defined", "undefined", "eq", "equalto", "nosuch",
];

export class Expressions {
  constructor(random) {
    this.r = random;
    this.locals = []; // names that the template around has set
  }

  any(depth) {
    const r = this.r;
    const kind = r.weighted([
      [5, "num"], [4, "str"], [4, "list"], [3, "obj"], [4, "bool"], [1, "other"], [1.5, "operator"], [1, "local"],
    ]);
    return this.of(kind, depth);
  }

  of(kind, depth) {
    const r = this.r;
    if (r.chance(0.06)) kind = r.pick(["num", "str", "list", "obj", "bool", "other"]);
    const text = this[kind](depth - 1);
    if (depth > 0 && r.chance(0.08)) return this.wrapped(text, kind, depth - 1);
    return r.chance(0.07) ? `(${text})` : text;
  }

  wrapped(text, kind, depth) {
    const r = this.r;
    return r.weighted([
      [2, () => `(${text} if ${this.of("bool", depth)} else ${this.of(kind, depth)})`],
      [1, () => `(${text} if ${this.of("bool", depth)})`],
      [1, () => `(${text} or ${this.of(kind, depth)})`],
      [1, () => `(${text} and ${this.of(kind, depth)})`],
      [1, () => `[${text}][0]`],
      [1, () => `{'k': ${text}}.k`],
      [1, () => `(${text})|default(${this.of(kind, depth)}${r.pick(["", ", true", ", false", ", boolean=true"])})`],
      [0.5, () => `[${text}, ${this.any(depth)}]|${r.pick(["first", "last"])}`],
      [0.5, () => `(${text}, ${this.any(depth)})[${r.pick(["0", "1", "-1", "2"])}]`],
    ])();
  }

  local() {
    return this.locals.length > 0 ? this.r.pick(this.locals) : this.r.pick(OTHER_NAMES);
  }

  other(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.7)) return r.pick(OTHER_NAMES);
    return r.weighted([
      [1, () => `(${r.several(2, 3, () => this.any(depth)).join(", ")})`],
      [1, () => `${this.of("obj", depth)}.nokey`],
      [1, () => `'abc'[${r.pick(["3", "-4", "9"])}]`],
      [1, () => `[]|${r.pick(["first", "last"])}`],
      [1, () => `'${r.pick(["abc", "x"])}'.${r.pick(["upper", "strip", "nosuch"])}`],
    ])();
  }

  num(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.3)) return r.chance(0.5) ? r.pick(NUMBERS) : r.pick([...INT_NAMES, ...NUM_NAMES]);
    return r.weighted([
      [6, () => `${this.of("num", depth)} ${r.pick(["+", "-", "*", "/", "//", "%"])} ${this.of("num", depth)}`],
      [1, () => `${this.of("num", depth)}${r.pick(["+", "-", "*", "/", "//", "%"])}${this.of("num", depth)}`],
      [1, () => `(${this.of("num", depth)}) ** ${r.pick(["2", "0", "-1", "1", "3", "true", "0.0"])}`],
      [2, () => `${r.pick(["-", "+", "- "])}${this.of("num", depth)}`],
      [1, () => `${this.of("list", depth)}|length`],
      [1, () => `${this.of("str", depth)}|${r.pick(["int", "float", "length"])}`],
      [1, () => `${this.of("str", depth)}|${r.pick(["int", "float"])}(${r.pick(["", "5", "1.5", "default=9", "none", "'x'"])})`],
      [1, () => `(${this.of("num", depth)})|${r.pick(["abs", "int", "float", "int(3)", "float()", "safe"])}`],
      [1, () => `${this.of("list", depth)}[${this.index(depth)}]`],
      [1, () => `${this.of("bool", depth)}|${r.pick(["int", "float", "int()"])}`],
      [1, () => `${this.of("str", depth)}.length`],
      [1, () => `obj.${r.pick(["a", "size", "b.c[1]", "nokey", "length"])}`],
    ])();
  }

  index(depth) {
    const r = this.r;
    return r.weighted([
      [4, () => r.pick(["0", "1", "2", "-1", "-2", "5", "-9"])],
      [1, () => this.of("num", depth)],
      [0.5, () => `${this.of("num", depth)}|int`],
      [0.3, () => this.any(depth)],
      [0.3, () => r.pick(["'length'", "1.0", "0 1", "true", "none"])],
    ])();
  }

  slice(depth) {
    const r = this.r;
    const bound = () => r.pick(["", "", "0", "1", "2", "-1", "-2", "9", "-9", "n", "none", "missing", "1.0", `(${this.num(depth)})|int`]);
    return r.chance(0.6) ? `${bound()}:${bound()}` : `${bound()}:${bound()}:${r.pick(["", "1", "2", "-1", "-2", "0", "9"])}`;
  }

  str(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.3)) return r.chance(0.6) ? r.pick(STRINGS) : r.pick(STR_NAMES);
    return r.weighted([
      [3, () => `${this.of("str", depth)} ~ ${this.any(depth)}`],
      [1, () => `${this.any(depth)} ~ ${this.any(depth)}`],
      [2, () => `${this.of("str", depth)} + ${this.any(depth)}`],
      [2, () => `${this.of("str", depth)}|${r.pick(["upper", "lower", "title", "capitalize", "trim", "indent", "string", "join", "tojson"])}`],
      [2, () => `${this.of("str", depth)}.${r.pick(["upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize"])}()`],
      [2, () => `${this.of("str", depth)}${r.pick([".", "|"])}replace(${this.replacement(depth)})`],
      [1, () => `${this.of("str", depth)}|indent(${r.pick(["2", "0", "width=3", "2, true", "1, false, true", "first=true", "blank=1", "'x'", "-1", "1.0"])})`],
      [1, () => `${this.of("str", depth)}[${this.slice(depth)}]`],
      [1, () => `${this.of("str", depth)}[${this.index(depth)}]`],
      [2, () => `${this.of("list", depth)}|join${r.pick(["", "()", "(',')", "(separator='-')", "(' ' ~ n)", "(1)"])}`],
      [2, () => `${this.any(depth)}|tojson${r.pick(["", "", "()", this.jsonOptions()])}`],
      [1, () => `(${this.any(depth)})|string`],
      [1, () => `${this.of("str", depth)}|join(${r.pick(["'-'", "''", "separator='+'"])})`],
      [1, () => `'${r.pick(["x", "a-b"])}' '${r.pick(["y", " "])}'`],
    ])();
  }

  jsonOptions() {
    const r = this.r;
    const options = r.several(1, 2, () =>
      r.pick([
        "indent=2", "indent=0", "indent=none", "indent=1", "ensure_ascii=true", "sort_keys=true", "sort_keys=false",
        "separators=(',', ':')", "separators=['; ', '=']", "separators=none", "separators=','", "indent='x'", "nosuch=1",
      ]),
    );
    return `(${options.join(", ")})`;
  }

  replacement(depth) {
    const r = this.r;
    const parts = [r.pick(["'a'", "''", "'l'", "' '", "'aa'", "'.'", this.of("str", 0)]), r.pick(["'X'", "''", "'--'", this.of("str", 0)])];
    if (r.chance(0.4)) parts.push(r.pick(["1", "0", "-1", "none", "count=1", "count=0", "2.0", "count=none", "'x'"]));
    if (r.chance(0.04)) parts.pop();
    return parts.join(", ");
  }

  list(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.25)) return r.chance(0.7) ? r.pick(LIST_NAMES) : r.pick(["[]", "[1]", "[1, 2, 3]", "['a', 'B', 'c']", "[2.0, 1]"]);
    return r.weighted([
      [3, () => `[${r.several(0, 4, () => this.any(depth)).join(r.chance(0.05) ? " " : ", ")}${r.chance(0.1) ? "," : ""}]`],
      [2, () => `[${r.several(1, 4, () => this.of(r.pick(["num", "str"]), depth)).join(", ")}]`],
      [2, () => `range(${this.range()})`],
      [2, () => `${this.of("list", depth)} + ${this.of("list", depth)}`],
      [2, () => `${this.of("list", depth)}[${this.slice(depth)}]`],
      [3, () => `${this.of("list", depth)}|${r.pick(["list", "reverse", "sort", "unique", "safe"])}`],
      [2, () => `${this.of("list", depth)}|sort(${r.pick(["true", "false", "reverse=true", "case_sensitive=true", "true, true", "attribute='k'", "attribute='v', reverse=true", "attribute=0", "false, false, 'k'", "1"])})`],
      [2, () => `objs|${r.pick(["selectattr", "rejectattr"])}(${r.pick(["'k'", "'v'", "'v', 'odd'", "'k', 'eq', 'x'", "'v', 'defined'", "'q', 'none'", "k", "'k', 'nosuch'", "", "'k', 'equalto'", "'d'"])})`],
      [2, () => `${r.pick(["objs", "objs", this.of("list", depth)])}|map(${r.pick(["attribute='k'", "attribute='v'", "attribute='v', default=0", "attribute='d.x'", "attribute='l.0'", "'k'", "attribute=1"])})`],
      [2, () => `${this.of("str", depth)}.split(${r.pick(["", "','", "' '", "none", "',', 1", "',', -2", "none, 1", "none, 0", "''", "sep=','", "',', 1.0", "'X', 0"])})`],
      [2, () => `${this.of("obj", depth)}${r.pick([".items()", ".keys()", ".values()", "|items", "|keys", "|values", "|items()"])}`],
      [2, () => `${this.of("obj", depth)}${r.pick(["|dictsort", "|dictsort(true)", "|dictsort(by='value')", ".dictsort(reverse=true)", "|dictsort(false, 'value', true)", "|dictsort(by='x')"])}`],
      [1, () => `${this.of("list", depth)}[${this.index(depth)}]`],
    ])();
  }

  range() {
    const r = this.r;
    const one = () => r.pick(["0", "1", "3", "5", "-2", "n", "half", "2.5", "true", "none", "'3'"]);
    return r.several(1, r.chance(0.05) ? 4 : 3, one).join(", ");
  }

  obj(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.35)) return r.pick([...OBJ_NAMES, "{}", "{'a': 1}", "{'x': 'y', 'l': [1]}"]);
    return r.weighted([
      [4, () => `{${r.several(0, 4, () => `${this.key()}: ${this.any(depth)}`).join(r.chance(0.05) ? " " : ", ")}}`],
      [1, () => `deep.${r.pick(["a", "b", "a.c"])}`],
      [1, () => `objs[${this.index(depth)}]`],
      [1, () => `namespace(${r.pick(["", "a=1", "obj", "[['k', 1]]", "a=n, b=lst", "{'z': 1}, z=2", "['ab']", "1", "obj, obj"])})`],
      [0.5, () => `${this.of("obj", depth)}.get(${r.pick(["'a'", "'zz'", "'zz', 5", "1", ""])})`],
    ])();
  }

  key() {
    return this.r.weighted([
      [8, () => this.r.pick(["'a'", "'b'", "'k'", "'Z'", "'1'", "'x y'", "'a' 'b'", "'size'", "'items'", "'length'", "'_u'", "'é'"])],
      [1, () => this.of("str", 0)],
      [0.3, () => this.any(0)],
    ])();
  }

  bool(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.15)) return r.pick(BOOL_NAMES);
    return r.weighted([
      [4, () => `${this.of("num", depth)} ${r.pick(["<", "<=", ">", ">=", "==", "!="])} ${this.of("num", depth)}`],
      [3, () => `${this.any(depth)} ${r.pick(["==", "!="])} ${this.any(depth)}`],
      [1, () => `${this.any(depth)} ${r.pick(["<", ">="])} ${this.any(depth)}`],
      [2, () => `${this.any(depth)} ${r.pick(["in", "not in"])} ${this.of(r.pick(["list", "str", "obj", "other"]), depth)}`],
      [1, () => `${this.of("str", depth)} in ${this.of("str", depth)}`],
      [2, () => `not ${this.any(depth)}`],
      [2, () => `${this.of("bool", depth)} ${r.pick(["and", "or"])} ${this.of("bool", depth)}`],
      [1, () => `${this.any(depth)} ${r.pick(["and", "or"])} ${this.any(depth)}`],
      [4, () => `${this.any(depth)} is ${r.chance(0.3) ? "not " : ""}${r.pick(TESTS)}`],
      [1, () => `${this.of("str", depth)}.${r.pick(["startswith", "endswith"])}(${r.pick(["'a'", "''", "['x', 'H']", "1", "", "name", "('l', 'd')"])})`],
      [0.4, () => `${this.of("num", depth)} < ${this.of("num", depth)} < ${this.of("num", depth)}`],
      [0.4, () => `not ${this.any(depth)} not ${this.any(depth)}`],
    ])();
  }

  // Any operator between any operands, and any filter on any operand.
  operator(depth) {
    const r = this.r;
    const ops = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"];
    return r.weighted([
      [3, () => `${this.any(depth)} ${r.pick(ops)} ${this.any(depth)}`],
      [2, () => `${this.any(depth)} ${r.pick(ops)} ${this.any(depth)} ${r.pick(ops)} ${this.any(depth)}`],
      [3, () => `${this.any(depth)}|${r.pick(BARE_FILTERS)}${r.pick(["", "", "", "()", "(1)", "('a')", "(k=1)"])}`],
      [1, () => `${this.any(depth)}.${r.pick(["a", "length", "upper", "0", "items", "get", "x.y"])}`],
      [1, () => `${this.any(depth)}[${this.any(depth)}]`],
      [0.5, () => `${this.any(depth)}(${r.several(0, 2, () => this.any(depth)).join(", ")})`],
      [0.5, () => `{'f': range}.f(${r.pick(["2", "*[1, 3]", "*lst", "**obj", "*n", "**{'a': 1}", "1, *[4]", "stop=3"])})`],
      [0.3, () => `${this.any(depth)}[${this.slice(depth)}]`],
    ])();
  }
}

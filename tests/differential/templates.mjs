// SPDX-License-Identifier: Apache-2.0
// Random templates: text with awkward white space, and every statement.

import { Expressions } from "./expressions.mjs";

const TEXTS = [
  "a", "x y", "\n", "\n\n", "  ", "\t", " text ", "line\n", "\n  ", "  \n", "{ ", " }", "}}", "%}", "#}\n", "-}\n", "{x}", "a{b", "\r\n",
  "\u2028 ", "é", "😀", "  b\n  c\n", "//c\n", "\"q\"", "end\n\n", "\u00a0", ";", "fn f() {\n", "}\n", " {", "\n\t",
];

export class Templates {
  constructor(random) {
    this.r = random;
    this.e = new Expressions(random);
    this.loops = 0;
    this.macros = [];
  }

  template() {
    this.e.locals = [];
    this.loops = 0;
    this.macros = [];
    let text = this.body(1 + this.r.below(5), 3);
    if (this.r.chance(0.12)) text = this.damaged(text);
    return text;
  }

  // Changes one place of a text: the parsers must agree on what is wrong.
  damaged(text) {
    const r = this.r;
    const at = r.below(text.length + 1);
    return r.weighted([
      [3, () => text.slice(0, at) + text.slice(at + 1)],
      [3, () => text.slice(0, at) + r.pick(["{", "}", "%", "-", "#", "'", '"', "(", ")", "[", "]", ",", ".", "|", "\\", " ", "{{", "}}", "{%", "%}", "{#", "#}", "not ", "is ", "if "]) + text.slice(at)],
      [1, () => text.slice(0, at)],
      [1, () => text.slice(0, at) + text.slice(at + 1 + r.below(8))],
      [1, () => text.slice(at)],
    ])();
  }

  body(count, depth) {
    return this.r.several(count, count, () => this.node(depth)).join("");
  }

  node(depth) {
    const r = this.r;
    if (depth <= 0 || r.chance(0.25)) return r.chance(0.6) ? r.pick(TEXTS) : this.print(1);
    return r.weighted([
      [3, () => r.pick(TEXTS)],
      [4, () => this.print(2)],
      [1, () => this.comment()],
      [3, () => this.set(depth)],
      [3, () => this.if(depth)],
      [4, () => this.for(depth)],
      [1.6, () => this.macro(depth)],
      [1.2, () => this.call(depth)],
      [0.7, () => this.filter(depth)],
      [0.5, () => (this.loops > 0 || r.chance(0.1) ? this.tag(r.pick(["break", "continue"])) : r.pick(TEXTS))],
      [0.3, () => this.tag(r.pick(["generation", "endgeneration", "raw", "include 'x'", "do x", "else", "endif", "with a=1"]))],
      [0.3, () => this.print(1, `raise_exception(${this.e.any(0)})`)],
    ])();
  }

  dash() {
    return this.r.chance(0.2) ? "-" : "";
  }

  around(text) {
    const r = this.r;
    return r.chance(0.15) ? r.pick(["\n", "  ", "\t"]) + text + r.pick(["\n", " ", "\n\n", ""]) : text;
  }

  tag(inner) {
    const space = this.r.chance(0.1) ? "" : " ";
    return this.around(`{%${this.dash()}${space}${inner}${space}${this.dash()}%}`);
  }

  print(depth, inner = null) {
    const r = this.r;
    const text = inner ?? (this.loops > 0 && r.chance(0.3) ? this.loopName() : this.e.any(depth));
    const space = r.chance(0.1) ? "" : " ";
    return this.around(`{{${this.dash()}${space}${text}${space}${this.dash()}}}`);
  }

  loopName() {
    return `loop.${this.r.pick(["index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem", "nosuch"])}`;
  }

  comment() {
    return this.around(`{#${this.dash()}${this.r.pick([" c ", "", " {{ n }} ", "\n x\n", " {% if %} ", "-"])}${this.dash()}#}`);
  }

  name() {
    return this.r.pick(["v", "w", "acc", "item", "n", "lst", "name", "loop", "ns", "m1"]);
  }

  set(depth) {
    const r = this.r;
    return r.weighted([
      [5, () => { const name = this.name(); const text = this.tag(`set ${name} = ${this.e.any(2)}`); this.e.locals.push(name); return text; }],
      [1, () => { const [a, b] = [this.name(), this.name()]; const text = this.tag(`set ${a}, ${b} = ${r.pick([`${this.e.any(1)}, ${this.e.any(1)}`, "[1, 2]", "pairs[0]", this.e.list(1)])}`); this.e.locals.push(a, b); return text; }],
      [1, () => { const name = this.name(); const inner = this.body(2, depth - 1); this.e.locals.push(name); return this.tag(`set ${name}`) + inner + this.tag("endset"); }],
      [2, () => { const text = this.tag("set ns = namespace(a=0, s='')"); this.e.locals.push("ns.a", "ns.s"); return text; }],
      [3, () => this.tag(`set ns.${r.pick(["a", "s", "t"])} = ${r.pick([`ns.a + ${this.e.num(0)}`, `ns.s ~ ${this.e.str(0)}`, this.e.any(1)])}`)],
      [0.3, () => this.tag(`set ${r.pick(["obj.a", "lst[0]", "ns['x']", "ns[name]", "1", "(a, b)", "f()", "obj.b.c", "namespace", "true"])} = ${this.e.any(1)}`)],
    ])();
  }

  if(depth) {
    const r = this.r;
    let text = this.tag(`if ${this.e.bool(2)}`) + this.body(1 + r.below(2), depth - 1);
    for (let i = r.below(5) - 2; i > 0; --i) text += this.tag(`elif ${this.e.any(1)}`) + this.body(1, depth - 1);
    if (r.chance(0.5)) text += this.tag("else") + this.body(1, depth - 1);
    return text + this.tag("endif");
  }

  for(depth) {
    const r = this.r;
    const pair = r.chance(0.25);
    const target = pair ? r.pick(["a, b", "k, v", "(a, b)", "a, b, c", "x, 1"]) : r.pick(["i", "x", "item", "n"]);
    const source = pair ? r.pick(["pairs", "obj.items()", "obj|dictsort", "[[1, 2], [3, 4]]", "[(1, 2)]", "strs"]) : r.pick([this.e.list(1), this.e.list(1), this.e.obj(1), "range(4)", "lst", "objs", this.e.any(1)]);
    const condition = r.chance(0.25) ? ` if ${r.pick([target.split(",")[0].replace("(", "") + " " + r.pick(["> 1", "is defined", "== 2", "!= 'a'"]), this.e.bool(1)])}` : "";
    const before = this.e.locals.slice();
    this.e.locals.push(...(pair ? ["a", "b", "v"] : [target]));
    ++this.loops;
    let text = this.tag(`for ${target} in ${source}${condition}`) + this.body(1 + r.below(3), depth - 1);
    if (r.chance(0.12)) text += this.tag(`if ${r.pick(["loop.index0 == 1", "i == 2", this.e.bool(1)])}`) + this.tag(r.pick(["break", "continue"])) + this.tag("endif") + r.pick(["", "t", "{{ n }}"]);
    --this.loops;
    this.e.locals = before;
    if (r.chance(0.3)) text += this.tag("else") + this.body(1, depth - 1);
    return text + this.tag("endfor");
  }

  parameters() {
    const r = this.r;
    return r.pick(["", "p", "p, q", "p, q=2", "p=1", "p='x', q=p", "p, q=n, z=none", "kwargs", "p, p", "p=1, q", "varargs=1"]);
  }

  macro(depth) {
    const r = this.r;
    const name = r.pick(["m1", "m2"]);
    const before = this.e.locals.slice();
    this.e.locals.push("p", "q", "varargs", "kwargs", "caller");
    const text = this.tag(`macro ${name}(${this.parameters()})`) + this.body(1 + r.below(2), depth - 1) +
      (r.chance(0.3) ? `{{ ${r.pick(["varargs", "kwargs", "varargs|length", "kwargs.a", "p", "q", "caller()", "caller(p)", "caller(1, 2)", "caller is defined"])} }}` : "") + this.tag("endmacro");
    this.e.locals = before;
    this.macros.push(name);
    return text + (r.chance(0.7) ? this.print(1, this.invocation()) : "");
  }

  invocation() {
    const r = this.r;
    const name = this.macros.length > 0 && r.chance(0.9) ? r.pick(this.macros) : r.pick(["m1", "range", "nosuch"]);
    return `${name}(${this.arguments()})`;
  }

  arguments() {
    const r = this.r;
    return r.pick(["", "1", "1, 2", "1, 2, 3", "p=1", "q=3", "1, q=2", "1, a=5", "*lst", "**obj", "*[1, 2], q=3", "1, **{'q': 4}", "missing", "[]|first", this.e.any(1), `${this.e.any(1)}, ${this.e.any(1)}`]);
  }

  call(depth) {
    const r = this.r;
    const parameters = r.chance(0.4) ? `(${r.pick(["u", "u, w=1", "", "u='d'"])}) ` : "";
    return this.tag(`call ${parameters}${this.invocation()}`) + this.body(1, depth - 1) + (r.chance(0.3) ? "{{ u }}" : "") + this.tag("endcall");
  }

  filter(depth) {
    const name = this.r.pick(["upper", "trim", "indent", "indent(2, true)", "replace('a', 'b')", "length", "title", "nosuch", "int", "tojson", "join('-')", "'x'", "default('d', true)", "upper()"]);
    return this.tag(`filter ${name}`) + this.body(2, depth - 1) + this.tag("endfilter");
  }
}

// SPDX-License-Identifier: Apache-2.0
// Writes a corpus of random templates and expressions with what the reference engine makes of them, one JSON object a line.
// usage: node generate.mjs [--seed N] [--count N] [--unique-errors N] > corpus.jsonl

import { Environment, Interpreter, Template, parse, tokenize } from "@huggingface/jinja";
import { CONTEXTS } from "./contexts.mjs";
import { Expressions } from "./expressions.mjs";
import { Random } from "./random.mjs";
import { Templates } from "./templates.mjs";

const SKIPPED = "mirrors the host language, or does more than a case should";
const OPTIONS = { lstrip_blocks: true, trim_blocks: true };

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

// The engine with its globals, but without the one that reads the clock.
function environment(context) {
  const env = new Environment();
  for (const [name, value] of [["false", false], ["true", true], ["none", null], ["False", false], ["True", true], ["None", null]]) env.set(name, value);
  env.set("raise_exception", (message) => {
    throw new Error(message);
  });
  env.set("range", (start, stop, step = 1) => {
    // As the engine's own, which it does not export.
    if (stop === undefined) [start, stop] = [0, start];
    if (step === 0) throw new Error("step");
    const items = [];
    for (let i = start; step > 0 ? i < stop : i > stop; i += step) {
      if (items.length >= 5000 || !/number|boolean/.test(typeof start) || typeof step === "string") throw new Error(SKIPPED);
      items.push(i);
    }
    return items;
  });
  for (const [name, value] of Object.entries(context)) env.set(name, value);
  return env;
}

// A value with its tags.
function dump(value) {
  if (value === undefined) return "hole";
  const list = (items) => items.map(dump).join(", ");
  const members = () => [...value.value].map(([key, item]) => `${JSON.stringify(key)}: ${dump(item)}`).join(", ");
  const number = () => (Object.is(value.value, -0) ? "-0" : String(value.value));
  switch (value.type) {
    case "IntegerValue": return `int ${number()}`;
    case "FloatValue": return `float ${number()}`;
    case "StringValue": return value.value === undefined ? "textless" : JSON.stringify(value.value);
    case "BooleanValue": return String(value.value);
    case "NullValue": return "null";
    case "UndefinedValue": return "undefined";
    case "ArrayValue": return `[${list(value.value)}]`;
    case "TupleValue": return `(${list(value.value)})`;
    case "ObjectValue": return `{${members()}}`;
    case "NamespaceValue": return `namespace {${members()}}`;
    case "KeywordArgumentsValue": return `keywords {${members()}}`;
    case "FunctionValue": return "function";
    default: throw new Error(value.type);
  }
}

// The source of a function is no result.
Function.prototype.toString = () => {
  throw new Error(SKIPPED);
};

// Our strings change the case of ASCII letters only.
function dependsOnUnicodeCase(source) {
  return /upper|lower|title|capitalize|sort|\.\s*(upper|lower)/.test(source) && /[\u0080-\uffff]|uni/.test(source);
}

function evaluated(source, context) {
  try {
    const node = parse(tokenize(`{{ ${source} }}`, OPTIONS)).body[0];
    const env = environment(context);
    return { value: dump(new Interpreter(env).evaluate(node, env)) };
  } catch (error) {
    return { error: String(error.message).slice(0, 80).toWellFormed() };
  }
}

function rendered(source, context) {
  try {
    const program = new Template(source).parsed;
    return { output: new Interpreter(environment(context)).run(program).value };
  } catch (error) {
    return { error: String(error.message).slice(0, 80).toWellFormed() };
  }
}

const count = option("count", 12000);
const random = new Random(option("seed", 1));
const templates = new Templates(random);
const expressions = new Expressions(random);
const lines = [JSON.stringify({ contexts: CONTEXTS })];
const seen = new Set();
const errors = new Map(); // how many cases end in one error message
const mostErrors = option("most-errors", 150);

while (lines.length <= count) {
  const context = random.chance(0.85) ? 0 : 1;
  const isTemplate = random.chance(0.6);
  const source = isTemplate ? templates.template() : random.chance(0.07) ? templates.damaged(expressions.any(3)) : expressions.any(1 + random.below(4));
  if (source.length > 1500 || !source.isWellFormed() || seen.has(source) || dependsOnUnicodeCase(source)) continue;
  seen.add(source);
  const result = isTemplate ? rendered(source, CONTEXTS[context]) : evaluated(source, CONTEXTS[context]);
  if (result.error !== undefined) {
    const kind = result.error.replace(/['"`].*|[0-9]+/g, "");
    errors.set(kind, (errors.get(kind) ?? 0) + 1);
    if (errors.get(kind) > mostErrors || /Invalid string length|stack|mirrors the host/.test(result.error)) continue;
  } else {
    const text = result.output ?? result.value;
    if (text.length > 20000 || !text.isWellFormed()) continue;
  }
  lines.push(JSON.stringify({ [isTemplate ? "template" : "expression"]: source, context, ...result }));
}
process.stdout.write(`${lines.join("\n")}\n`);

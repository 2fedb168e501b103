// SPDX-License-Identifier: Apache-2.0
// The values that generated cases see.

export const CONTEXTS = [
  {
    n: 12, half: 6, f: 1.5, neg: -3, name: "add", empty: "", yes: true, no: false, nul: null, zero: 0, big: 4294967296,
    tiny: 1e-7, e21: 1e21, W: 64, whole: 2, nf: -0.25, text: "  Some Text\n more ", uni: "héllo 😀 wörld", words: "one two,three",
    lst: [3, 1, 2], nest: [[1, 2], [3, [4]]], strs: ["b", "A", "c"], mixed: [1, "x", null, true, 2.5, [1], { q: 1 }], emptyl: [],
    objs: [{ k: "x", v: 3, d: { x: 1 }, l: [7] }, { k: "y", v: 1, d: null }, { k: "Z", q: null }], pairs: [["a", 1], ["b", 2]],
    flags: [true, false, true], floats: [1.5, 2, 0.1, 1e21, 1e-9],
    obj: { a: 1, b: { c: [10, 20] }, size: 7, "k k": 2 }, emptyo: {}, deep: { a: { c: { d: 1 } }, b: {} }, idx: { b: 1, 10: "t", 2: "u", a: null },
  },
  {
    n: 1, half: 0.5, f: 2.25, neg: -8, name: "MatMul", empty: "", yes: true, no: false, nul: null, zero: 0, big: 1e15, tiny: 5e-324, e21: 1e300,
    W: 256, whole: 100, nf: -1e-7, text: "a\tb", uni: "ÄÖÜ", words: "",
    lst: [1], nest: [], strs: ["x"], mixed: ["", 0, false], emptyl: [], objs: [], pairs: [], flags: [false], floats: [0.5],
    obj: {}, emptyo: {}, deep: { a: {} }, idx: { 0: 1 },
  },
];

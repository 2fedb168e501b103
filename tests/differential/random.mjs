// SPDX-License-Identifier: Apache-2.0
// A seeded generator of random numbers and choices.

export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  // mulberry32
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  below(n) {
    return Math.floor(this.next() * n);
  }

  chance(p) {
    return this.next() < p;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // One of [weight, value] pairs.
  weighted(pairs) {
    let at = this.next() * pairs.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of pairs) {
      at -= weight;
      if (at < 0) return value;
    }
    return pairs[pairs.length - 1][1];
  }

  several(least, most, make) {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, i) => make(i));
  }
}

enable subgroups;
struct Params { zero: u32, jobs: u32, rows: u32, lastRows: u32, patience: u32, readersOf: u32, inverse: f32, epsilon: f32 };
@group(0) @binding(0) var<storage, read> X: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> gamma: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> beta: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> Y: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> S: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> board: array<atomic<u32>>;
@group(0) @binding(8) var<uniform> params: Params;
alias Packed = vec4<f32>;

fn part0(p: Packed) -> vec4<f32> {
  return p;
}

fn pack(v0: vec4<f32>) -> Packed {
  return v0;
}


// The mean of a cell as a value that compilers cannot take apart again (the last operand is zero, always): what (y - (y + z)) + z leaves of the cell
// itself is what the sum had to round off, but some take it for zero.
fn mean_of(cell: vec4<f32>) -> f32 {
  return bitcast<f32>(bitcast<u32>(cell.y + cell.z) ^ params.zero);
}

// (count, count times mean, squares), the latter two from the pivot. As explicit fma, so that no compiler has a choice.
fn add_cell(total: vec3<f32>, cell: vec4<f32>, pivot: f32) -> vec3<f32> {
  let apart = (cell.y - pivot) + cell.z;
  return vec3<f32>(total.x + cell.x, fma(cell.x, apart, total.y), fma(cell.x * apart, apart, total.z + cell.w));
}

// A cell of what the walk found.
fn partial_of(total: vec3<f32>, pivot: f32) -> vec4<f32> {
  let rest = total.y / max(total.x, 1.0);
  return vec4<f32>(total.x, pivot, rest, max(fma(-total.y, rest, total.z), 0.0));
}

// What the normalization needs of a group: (a value near its mean, mean from that value, reciprocal standard deviation).
fn constants_of(total: vec3<f32>, pivot: f32, epsilon: f32) -> vec4<f32> {
  let all = partial_of(total, pivot);
  return vec4<f32>(pivot, all.z, inverseSqrt(all.w / max(total.x, 1.0) + epsilon), 0.0);
}



// One, always.
fn one() -> f32 {
  return 1.0 + f32(params.zero);
}

fn silu(y: vec4<f32>) -> vec4<f32> {
  return y * (1.0 / (1.0 + exp(-y)));
}

var<workgroup> cells: array<vec4<f32>, 520>;
var<workgroup> constants: array<vec4<f32>, 4>;
// One more than a slice whose moments did not come.
var<workgroup> missing: atomic<u32>;
var<workgroup> readers: u32;
var<workgroup> gammas: array<vec4<f32>, 10>;
var<workgroup> betas: array<vec4<f32>, 10>;


// A word that is not zero, whatever the value: 0 is told as -0.
fn word(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  return select(bits, 0x80000000u, bits == 0u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) member: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let ownSlice = job % 15u;
  let slabOfAll = job / 15u;
  let batch = slabOfAll / 8u;
  let slab = slabOfAll % 8u;
  let ownColumn = slab * 10u + lane % 10u;
  let column0 = min(ownColumn, 79u);
  let firstRow = batch * params.rows * 80u + column0;
  let full = true && lane < 250u;
  let slot = (subgroup * 32u + member) / 32u;
  let seat = min(slot, 3u);
  let words = slabOfAll * 192u + seat * 45u;
  // The own slice, then those that are missing, then the own one again. A slice can seem to be missing once more after its turn: nothing orders the
  // words that one lane tells before those that another lane looks for. So there are far more turns than slices.
  var slice = ownSlice;
  for (var turn = 0u; turn < 120u; turn++) {
    let place = slice * 25u + min(lane / 10u, 24u);
    let base = firstRow + place * 80u;
    let tail = full && place + 3750u < params.rows;
    let i0 = base;
    let i1 = base + 30000u;
    let i2 = base + 60000u;
    let i3 = base + 90000u;
    let i4 = base + 120000u;
    let i5 = base + 150000u;
    let i6 = base + 180000u;
    let i7 = base + 210000u;
    let i8 = base + 240000u;
    let i9 = base + 270000u;
    let valid10 = full && tail;
    let i10 = select(base, base + 300000u, valid10);
    let x0 = X[i0];
let k0 = skip[i0];

    let x1 = X[i1];
let k1 = skip[i1];

    let x2 = X[i2];
let k2 = skip[i2];

    let x3 = X[i3];
let k3 = skip[i3];

    let x4 = X[i4];
let k4 = skip[i4];

    let x5 = X[i5];
let k5 = skip[i5];

    let x6 = X[i6];
let k6 = skip[i6];

    let x7 = X[i7];
let k7 = skip[i7];

    let x8 = X[i8];
let k8 = skip[i8];

    let x9 = X[i9];
let k9 = skip[i9];

    let x10 = X[i10];
let k10 = skip[i10];

    // All that is read is asked for before any of it is used.
  let biasWord0 = bias[column0];
  let bias0 = biasWord0;

    if (lane < 10u) {
      let at = min(slab * 10u + lane, 79u);
      gammas[lane] = gamma[at];
      betas[lane] = beta[at];
    }
    let s0 = pack(fma(part0(x0) + part0(k0), vec4<f32>(one()), bias0));

    let s1 = pack(fma(part0(x1) + part0(k1), vec4<f32>(one()), bias0));

    let s2 = pack(fma(part0(x2) + part0(k2), vec4<f32>(one()), bias0));

    let s3 = pack(fma(part0(x3) + part0(k3), vec4<f32>(one()), bias0));

    let s4 = pack(fma(part0(x4) + part0(k4), vec4<f32>(one()), bias0));

    let s5 = pack(fma(part0(x5) + part0(k5), vec4<f32>(one()), bias0));

    let s6 = pack(fma(part0(x6) + part0(k6), vec4<f32>(one()), bias0));

    let s7 = pack(fma(part0(x7) + part0(k7), vec4<f32>(one()), bias0));

    let s8 = pack(fma(part0(x8) + part0(k8), vec4<f32>(one()), bias0));

    let s9 = pack(fma(part0(x9) + part0(k9), vec4<f32>(one()), bias0));

    let s10 = pack(fma(part0(x10) + part0(k10), vec4<f32>(one()), bias0));

if (lane == 0u) {
      atomicStore(&missing, 0u);
    }
    // Who looks at what was there has told its words before the board can be left zero, though another may have told them first: the same then.
    let inverseCount = 1.0 / max(f32(2500u + (min((slice + 1u) * 25u, params.lastRows) - min(slice * 25u, params.lastRows)) * 10u), 1.0);
  let pivot0 = part0(s0).xxzz;
  let d0_0 = part0(s0) - pivot0;
  let d1_0 = part0(s1) - pivot0;
  let d2_0 = part0(s2) - pivot0;
  let d3_0 = part0(s3) - pivot0;
  let d4_0 = part0(s4) - pivot0;
  let d5_0 = part0(s5) - pivot0;
  let d6_0 = part0(s6) - pivot0;
  let d7_0 = part0(s7) - pivot0;
  let d8_0 = part0(s8) - pivot0;
  let d9_0 = part0(s9) - pivot0;
  let d10_0 = select(vec4<f32>(), part0(s10) - pivot0, valid10);
  let sum0 = d0_0 + d1_0 + d2_0 + d3_0 + d4_0 + d5_0 + d6_0 + d7_0 + d8_0 + d9_0 + d10_0;
  let count = select(0.0, select(20.0, 22.0, tail), full);
  let share = select(0.05, 0.045454545454545456, tail);
  let sumOf0 = sum0[0] + sum0[1];
  let restOf0 = sumOf0 * share;
  let sumOf1 = sum0[2] + sum0[3];
  let restOf1 = sumOf1 * share;
  let all0 = vec4<f32>(sumOf0, sumOf0, sumOf1, sumOf1);
  let e0_0 = fma(-all0, vec4<f32>(share), d0_0);
  let e1_0 = fma(-all0, vec4<f32>(share), d1_0);
  let e2_0 = fma(-all0, vec4<f32>(share), d2_0);
  let e3_0 = fma(-all0, vec4<f32>(share), d3_0);
  let e4_0 = fma(-all0, vec4<f32>(share), d4_0);
  let e5_0 = fma(-all0, vec4<f32>(share), d5_0);
  let e6_0 = fma(-all0, vec4<f32>(share), d6_0);
  let e7_0 = fma(-all0, vec4<f32>(share), d7_0);
  let e8_0 = fma(-all0, vec4<f32>(share), d8_0);
  let e9_0 = fma(-all0, vec4<f32>(share), d9_0);
  let e10_0 = select(vec4<f32>(), fma(-all0, vec4<f32>(share), d10_0), valid10);
  let squares0 = fma(e10_0, e10_0, fma(e9_0, e9_0, fma(e8_0, e8_0, fma(e7_0, e7_0, fma(e6_0, e6_0, fma(e5_0, e5_0, fma(e4_0, e4_0, fma(e3_0, e3_0, fma(e2_0, e2_0, fma(e1_0, e1_0, e0_0 * e0_0))))))))));
  let unit0 = vec4<f32>(count, pivot0[0], restOf0, squares0[0] + squares0[1]);
  let unit1 = vec4<f32>(count, pivot0[2], restOf1, squares0[2] + squares0[3]);

    cells[lane] = unit0;
    cells[lane + 260u] = unit1;
    workgroupBarrier();
    var total = vec3<f32>();
    let head = cells[(seat * 5u + 0u % 5u) % 2u * 260u + 0u / 5u * 10u + (seat * 5u + 0u % 5u) / 2u];
    let pivot = mean_of(head);
    let at0 = (subgroup * 32u + member) % 32u + 0u;
    let cell0 = cells[(seat * 5u + at0 % 5u) % 2u * 260u + at0 / 5u * 10u + (seat * 5u + at0 % 5u) / 2u];
    let at1 = (subgroup * 32u + member) % 32u + 32u;
    let cell1 = cells[(seat * 5u + at1 % 5u) % 2u * 260u + at1 / 5u * 10u + (seat * 5u + at1 % 5u) / 2u];
    let at2 = (subgroup * 32u + member) % 32u + 64u;
    let cell2 = cells[(seat * 5u + at2 % 5u) % 2u * 260u + at2 / 5u * 10u + (seat * 5u + at2 % 5u) / 2u];
    let at3 = min((subgroup * 32u + member) % 32u + 96u, 124u);
    let cell3 = cells[(seat * 5u + at3 % 5u) % 2u * 260u + at3 / 5u * 10u + (seat * 5u + at3 % 5u) / 2u];
    total = add_cell(total, cell0, pivot);
    total = add_cell(total, cell1, pivot);
    total = add_cell(total, cell2, pivot);
    total = add_cell(total, select(vec4<f32>(), cell3, (subgroup * 32u + member) % 32u < 29u), pivot);
    total += subgroupShuffleXor(total, 1u);
    total += subgroupShuffleXor(total, 2u);
    total += subgroupShuffleXor(total, 4u);
    total += subgroupShuffleXor(total, 8u);
    total += subgroupShuffleXor(total, 16u);

    let rest = total.y * inverseCount;
    let told = vec3<f32>(pivot, rest, max(fma(-total.y, rest, total.z), 0.0));
    var before = vec3<u32>();
    if ((subgroup * 32u + member) % 32u == 0u && slot < 4u) {
      before[0] = atomicExchange(&board[words + 0u + slice], word(told[0]));
      before[1] = atomicExchange(&board[words + 15u + slice], word(told[1]));
      before[2] = atomicExchange(&board[words + 30u + slice], word(told[2]));
    }
    if (slice == ownSlice) {
      if (full) { S[i0] = s0; }
      if (full) { S[i1] = s1; }
      if (full) { S[i2] = s2; }
      if (full) { S[i3] = s3; }
      if (full) { S[i4] = s4; }
      if (full) { S[i5] = s5; }
      if (full) { S[i6] = s6; }
      if (full) { S[i7] = s7; }
      if (full) { S[i8] = s8; }
      if (full) { S[i9] = s9; }
      if (full && tail) { S[i10] = s10; }
    }
    let slice0 = min((subgroup * 32u + member) % 32u + 0u, 14u);
    var toldPivot0 = 1u;
    var toldRest0 = 1u;
    var toldSquares0 = 1u;
    if (slot < 4u) {
      toldPivot0 = atomicLoad(&board[words + 0u + slice0]);
      toldRest0 = atomicLoad(&board[words + 15u + slice0]);
      toldSquares0 = atomicLoad(&board[words + 30u + slice0]);
    }
    // Who has waited in vain once takes what is not there yet.
    let patience = select(0u, params.patience, turn == 0u);
    for (var tries = 0u; tries < patience; tries++) {
      if (toldPivot0 != 0u && toldRest0 != 0u && toldSquares0 != 0u) {
        break;
      }
      if (toldPivot0 == 0u) {
        toldPivot0 = atomicLoad(&board[words + 0u + slice0]);
      }
      if (toldRest0 == 0u) {
        toldRest0 = atomicLoad(&board[words + 15u + slice0]);
      }
      if (toldSquares0 == 0u) {
        toldSquares0 = atomicLoad(&board[words + 30u + slice0]);
      }
    }
    if (!(toldPivot0 != 0u && toldRest0 != 0u && toldSquares0 != 0u)) {
      atomicMax(&missing, slice0 + 1u);
    }
    let same = bitcast<vec3<f32>>(before);
    if (any((before != vec3<u32>()) & ((same < told) | (same > told)))) {
      atomicMax(&missing, slice + 1u);
    }
    total = vec3<f32>();
    let count0 = f32(2500u + (min((slice0 + 1u) * 25u, params.lastRows) - min(slice0 * 25u, params.lastRows)) * 10u);
    let told0 = vec4<f32>(count0, bitcast<f32>(toldPivot0), bitcast<f32>(toldRest0), bitcast<f32>(toldSquares0));
    // What all slices are added up from, the mean of one: far from the mean of all, it costs digits of the squares, as many as there are slices, not cells.
    let middle = pivot + rest;
    total = add_cell(total, select(vec4<f32>(), told0, (subgroup * 32u + member) % 32u < 15u), middle);
    total += subgroupShuffleXor(total, 1u);
    total += subgroupShuffleXor(total, 2u);
    total += subgroupShuffleXor(total, 4u);
    total += subgroupShuffleXor(total, 8u);
    total += subgroupShuffleXor(total, 16u);

    if ((subgroup * 32u + member) % 32u == 0u && slot < 4u) {
      let rest = total.y * params.inverse;
      constants[slot] = vec4<f32>(middle, rest, inverseSqrt(fma(max(fma(-total.y, rest, total.z), 0.0), params.inverse, params.epsilon)), 0.0);
    }
    let absent = workgroupUniformLoad(&missing);
    if (absent == 0u && slice == ownSlice) {
      var readersBefore = 0u;
      if (lane == 0u) {
        readersBefore = atomicAdd(&board[params.readersOf + slabOfAll], 1u);
      }
    let gammaWord0 = gammas[lane % 10u * 1u + 0u];
    let gamma0 = gammaWord0;
    let betaWord0 = betas[lane % 10u * 1u + 0u];
    let beta0 = betaWord0;
  let g0 = constants[(lane % 10u * 2u + 0u) / 5u];
  let g1 = constants[(lane % 10u * 2u + 1u) / 5u];
  let mean0 = vec4<f32>(g0.x, g0.x, g1.x, g1.x);
  let scale0 = gamma0 * vec4<f32>(g0.z, g0.z, g1.z, g1.z);
  let offset0 = fma(vec4<f32>(-g0.y, -g0.y, -g1.y, -g1.y), scale0, beta0);

      if (full) {
        Y[i0] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i1] = pack(silu(fma(part0(s1) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i2] = pack(silu(fma(part0(s2) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i3] = pack(silu(fma(part0(s3) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i4] = pack(silu(fma(part0(s4) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i5] = pack(silu(fma(part0(s5) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i6] = pack(silu(fma(part0(s6) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i7] = pack(silu(fma(part0(s7) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i8] = pack(silu(fma(part0(s8) - mean0, scale0, offset0)));
      }
      if (full) {
        Y[i9] = pack(silu(fma(part0(s9) - mean0, scale0, offset0)));
      }
      if (full && tail) {
        Y[i10] = pack(silu(fma(part0(s10) - mean0, scale0, offset0)));
      }
      if (lane == 0u) {
        readers = readersBefore;
      }
      break;
    }
    slice = select(absent - 1u, ownSlice, absent == 0u);
  }
  if (workgroupUniformLoad(&readers) == 14u) {
    for (var i = lane; i < 180u; i += 256u) {
      atomicStore(&board[slabOfAll * 192u + i], 0u);
    }
    if (lane == 0u) {
      atomicStore(&board[params.readersOf + slabOfAll], 0u);
    }
  }
}
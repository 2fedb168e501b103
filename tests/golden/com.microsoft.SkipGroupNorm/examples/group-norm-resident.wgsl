struct Params { zero: u32, jobs: u32, rows: u32, groups: u32, inverse: f32, epsilon: f32, _pad0: u32, _pad1: u32 };
@group(0) @binding(0) var<storage, read> X: array<f32>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read> beta: array<f32>;
@group(0) @binding(4) var<storage, read_write> Y: array<f32>;
@group(0) @binding(5) var<uniform> params: Params;
alias Packed = f32;

fn part0(p: Packed) -> f32 {
  return p;
}

fn pack(v0: f32) -> Packed {
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





var<workgroup> cells: array<vec4<f32>, 3>;
var<workgroup> constants: array<vec4<f32>, 1>;
var<workgroup> totals: array<vec3<f32>, 3>;


@compute @workgroup_size(3)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let place0 = workgroup.x + workgroup.y * 65535u;
  if (place0 >= params.jobs) {
    return;
  }
  let job = place0;
  let ownGroup = job * 1u + lane / 3u;
  let place = lane % 3u;
  let full = true;
  let groupIndex = ownGroup;
  let batch = groupIndex / 3u;
  let firstChannel = (groupIndex % 3u) * 3u;
  let base = groupIndex * params.rows + place;
  let tail = full;
  let i0 = base + 0u;
  let x0 = X[i0];
let k0 = skip[i0];

  let s0 = pack(part0(x0) + part0(k0));


  let pivot0 = part0(s0);
  let d0_0 = part0(s0) - pivot0;
  let sum0 = d0_0;
  let count = select(0.0, select(0.0, 1.0, tail), full);
  let share = select(1.0, 1.0, tail);
  let sumOf0 = sum0;
  let restOf0 = sumOf0 * share;
  let all0 = f32(sumOf0);
  let e0_0 = fma(-all0, f32(share), d0_0);
  let unit0 = vec4<f32>(count, pivot0, restOf0, e0_0 * e0_0);

  cells[lane] = unit0;
  workgroupBarrier();
  let slot = lane / 2u;
  {
    var total = vec3<f32>();
    let seat = min(slot, 0u);
    let head = cells[seat * 3u + 0u];
    let pivot = mean_of(head);
    let at0 = lane % 2u + 0u;
    let cell0 = cells[seat * 3u + at0];
    let at1 = min(lane % 2u + 2u, 2u);
    let cell1 = cells[seat * 3u + at1];
    total = add_cell(total, cell0, pivot);
    total = add_cell(total, select(vec4<f32>(), cell1, lane % 2u < 1u), pivot);
    totals[lane] = total;
    workgroupBarrier();
    total = vec3<f32>();
    for (var j = 0u; j < 2u; j++) {
      total += totals[lane / 2u * 2u + j];
    }

    if (lane % 2u == 0u && slot < 1u) {
      let rest = total.y * params.inverse;
      constants[slot] = vec4<f32>(pivot, rest, inverseSqrt(fma(max(fma(-total.y, rest, total.z), 0.0), params.inverse, params.epsilon)), 0.0);
    }
  }
  workgroupBarrier();
  let moments = constants[lane / 3u];
  if (full) {
  let value0 = (i0 - groupIndex * params.rows) * 1u;
  let c0 = firstChannel + value0 / 1u;

  let affine0 = vec2<f32>(gamma[c0], beta[c0]);
  let scale0 = affine0.x * moments.z;
  let offset0 = fma(-moments.y, scale0, affine0.y);
  let result0_0 = fma(part0(s0) - moments.x, f32(scale0), f32(offset0));

    Y[i0] = pack(result0_0);
  }
}
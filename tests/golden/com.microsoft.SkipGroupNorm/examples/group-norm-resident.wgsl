struct Params { zero: u32, jobs: u32, rows: u32, groups: u32, epsilon: f32, _pad0: u32, _pad1: u32, _pad2: u32 };
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


// First walk: (count, count times mean). As explicit fma, so that no compiler has a choice.
fn add_mean(total: vec2<f32>, cell: vec4<f32>, pivot: f32) -> vec2<f32> {
  return vec2<f32>(total.x + cell.x, fma(cell.x, (cell.y - pivot) + cell.z, total.y));
}

// Second walk, with the mean as pivot: (count times what the mean is off, squares).
fn add_squares(total: vec2<f32>, cell: vec4<f32>, pivot: f32) -> vec2<f32> {
  let apart = (cell.y - pivot) + cell.z;
  return vec2<f32>(fma(cell.x, apart, total.x), total.y + fma(cell.x * apart, apart, cell.w));
}

// A cell of what both walks found: (count, mean, rest of the mean, squares).
fn partial_of(count: f32, mean: f32, second: vec2<f32>) -> vec4<f32> {
  let rest = second.x / max(count, 1.0);
  return vec4<f32>(count, mean, rest, max(fma(-second.x, rest, second.y), 0.0));
}

// What the normalization needs of a group: (mean, rest of the mean, reciprocal standard deviation). The rest comes from the second
// walk and not from what a sum of two floats lost, which compilers may take for zero.
fn constants_of(count: f32, mean: f32, second: vec2<f32>, epsilon: f32) -> vec4<f32> {
  let all = partial_of(count, mean, second);
  return vec4<f32>(mean, all.z, inverseSqrt(all.w / max(count, 1.0) + epsilon), 0.0);
}




var<workgroup> cells: array<vec4<f32>, 3>;
var<workgroup> constants: array<vec4<f32>, 1>;
var<workgroup> totals: array<vec2<f32>, 3>;
var<workgroup> seconds: array<vec2<f32>, 3>;


@compute @workgroup_size(3)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let ownGroup = job * 1u + lane / 3u;
  let place = lane % 3u;
  let full = true;
  let groupIndex = ownGroup;
  let tail = full && place + 0u < params.rows;
  let batch = groupIndex / 3u;
  let firstChannel = (groupIndex % 3u) * 3u;
  let base = groupIndex * params.rows + place;
  let i0 = select(base, base + 0u, tail);
  let x0 = X[i0];
let k0 = skip[i0];

  let s0 = pack(part0(x0) + part0(k0));


  let count0 = select(0.0, select(0.0, 1.0, tail), full);
  let pivot0 = part0(s0);
  let rest0 = f32();
  let squares0 = f32();
  let unit0 = vec4<f32>(count0, pivot0, rest0, squares0);
  cells[lane] = unit0;

  workgroupBarrier();
  let slot = lane / 2u;
  {
    var total = vec2<f32>();
    var second = vec2<f32>();
    var pivot = 0.0;
    if (slot < 1u) {
      pivot = cells[slot * 3u + 0u].y;
    }
    var cell0 = vec4<f32>();
    if (slot < 1u) {
      let i = lane % 2u + 0u;
      cell0 = cells[slot * 3u + i];
    }
    var cell1 = vec4<f32>();
    if (slot < 1u && lane % 2u < 1u) {
      let i = lane % 2u + 2u;
      cell1 = cells[slot * 3u + i];
    }
    total = add_mean(total, cell0, pivot);
    total = add_mean(total, cell1, pivot);
    totals[lane] = total;
    workgroupBarrier();
    total = vec2<f32>();
    for (var j = 0u; j < 2u; j++) {
      total += totals[lane / 2u * 2u + j];
    }

    let mean = pivot + total.y / max(total.x, 1.0);
    second = add_squares(second, cell0, mean);
    second = add_squares(second, cell1, mean);
    seconds[lane] = second;
    workgroupBarrier();
    second = vec2<f32>();
    for (var j = 0u; j < 2u; j++) {
      second += seconds[lane / 2u * 2u + j];
    }

    if (lane % 2u == 0u && slot < 1u) {
      constants[slot] = constants_of(total.x, mean, second, params.epsilon);
    }
  }
  workgroupBarrier();
  let moments = constants[lane / 3u];
  if (tail) {
  let value0 = (i0 - groupIndex * params.rows) * 1u;
  let c0 = firstChannel + value0 / 1u;

  let gamma0_0 = f32(gamma[c0]);

  let beta0_0 = f32(beta[c0]);

  let mean0 = f32(moments.x);
  let scale0 = gamma0_0 * moments.z;
  let offset0 = fma(f32(-moments.y), scale0, beta0_0);

    Y[i0] = pack(fma(part0(s0) - mean0, scale0, offset0));
  }
}
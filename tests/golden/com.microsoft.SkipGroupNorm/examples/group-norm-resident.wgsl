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


fn merge(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  if (b.x == 0.0) {
    return a;
  }
  if (a.x == 0.0) {
    return b;
  }
  let count = a.x + b.x;
  let weight = b.x / count;
  let delta = (b.y - a.y) + (b.z - a.z);
  let rest = fma(delta, weight, a.z);
  let mean = a.y + rest;
  let back = mean - a.y;
  let lost = (a.y - (mean - back)) + (rest - back);
  return vec4<f32>(count, mean, lost, fma(delta * delta, a.x * weight, a.w + b.w));
}

fn finish(m: vec4<f32>, epsilon: f32) -> vec4<f32> {
  return vec4<f32>(m.y, m.z, inverseSqrt(m.w / max(m.x, 1.0) + epsilon), 0.0);
}





var<workgroup> cells: array<vec4<f32>, 5>;

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
  var unit0 = vec4<f32>(count0, pivot0, rest0, squares0);
  cells[lane] = unit0;

  workgroupBarrier();
  let slot = lane / 2u;
  {
    var acc = vec4<f32>();
    if (slot < 1u) {
      for (var i = lane % 2u; i < 3u; i += 2u) {
        acc = merge(acc, cells[slot * 3u + i]);
      }
    }
  workgroupBarrier();
  cells[lane] = acc;
  workgroupBarrier();
  for (var span = 1u; span > 0u; span = span >> 1u) {
    if (lane % 2u < span) {
      acc = merge(acc, cells[lane + span]);
      cells[lane] = acc;
    }
    workgroupBarrier();
  }

    if (lane % 2u == 0u && slot < 1u) {
      cells[4u + slot] = finish(acc, params.epsilon);
    }
  }
  workgroupBarrier();
  let moments = cells[4u + lane / 3u];
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
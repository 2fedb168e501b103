struct Params { zero: u32, jobs: u32, items: u32, plane: u32, epsilon: f32, _pad0: u32, _pad1: u32, _pad2: u32 };
@group(0) @binding(0) var<storage, read> X: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read> beta: array<f32>;
@group(0) @binding(4) var<storage, read_write> Y: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> S: array<vec4<f32>>;
@group(0) @binding(6) var<uniform> params: Params;
alias Packed = vec4<f32>;

fn part0(p: Packed) -> vec4<f32> {
  return p;
}

fn pack(v0: vec4<f32>) -> Packed {
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



fn silu(y: vec4<f32>) -> vec4<f32> {
  return y / (1.0 + exp(-y));
}

var<workgroup> cells: array<vec4<f32>, 1>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let batch = job / 36000u;
  let group = job % 36000u;
  let firstChannel = group * 1u;
  var pivot0 = vec4<f32>();
  var rest0 = vec4<f32>();
  var squares0 = vec4<f32>();
  var count0 = 0.0;
  for (var i = lane; i < params.items; i += 1u) {
    let index = job * params.items + i;

    let skip0 = vec4<f32>(skip[batch * 36000u + firstChannel + (i * 4u + 0u) / params.plane], skip[batch * 36000u + firstChannel + (i * 4u + 1u) / params.plane], skip[batch * 36000u + firstChannel + (i * 4u + 2u) / params.plane], skip[batch * 36000u + firstChannel + (i * 4u + 3u) / params.plane]);

    let x0 = X[index];

    let s0 = pack(part0(x0) + skip0);


    S[index] = s0;
      let weight = 1.0 / (count0 + 1.0);
      if (count0 == 0.0) {
        pivot0 = part0(s0);
      }
      let d0 = part0(s0) - pivot0;
      let delta0 = d0 - rest0;
      rest0 = fma(delta0, vec4<f32>(weight), rest0);
      squares0 = fma(delta0 * delta0, vec4<f32>(count0 * weight), squares0);
      count0 += 1.0;

  }
  var unit0 = vec4<f32>(count0, pivot0[0], rest0[0], squares0[0]);
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[1], rest0[1], squares0[1]));
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[2], rest0[2], squares0[2]));
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[3], rest0[3], squares0[3]));
  cells[lane] = unit0;

  var acc = unit0;

  if (lane == 0u) {
    cells[0] = finish(acc, params.epsilon);
  }
  workgroupBarrier();
  let moments = cells[0];
  for (var i = lane; i < params.items; i += 1u) {
    let index = job * params.items + i;

    let s0 = S[index];
    let gamma0 = vec4<f32>(gamma[firstChannel + (i * 4u + 0u) / params.plane], gamma[firstChannel + (i * 4u + 1u) / params.plane], gamma[firstChannel + (i * 4u + 2u) / params.plane], gamma[firstChannel + (i * 4u + 3u) / params.plane]);

    let beta0 = vec4<f32>(beta[firstChannel + (i * 4u + 0u) / params.plane], beta[firstChannel + (i * 4u + 1u) / params.plane], beta[firstChannel + (i * 4u + 2u) / params.plane], beta[firstChannel + (i * 4u + 3u) / params.plane]);

    let mean0 = vec4<f32>(moments.x);
    let scale0 = gamma0 * moments.z;
    let offset0 = fma(vec4<f32>(-moments.y), scale0, beta0);
    Y[index] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
  }
}
struct Params { jobs: u32, entries: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> moments: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: Params;
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
  return vec4<f32>(count, a.y, rest, fma(delta * delta, a.x * weight, a.w + b.w));
}

fn finish(m: vec4<f32>, epsilon: f32) -> vec4<f32> {
  return vec4<f32>(m.y, m.z, inverseSqrt(m.w / max(m.x, 1.0) + epsilon), 0.0);
}


var<workgroup> cells: array<vec4<f32>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  var acc = vec4<f32>();
  for (var i = lane; i < params.entries; i += 64u) {
    acc = merge(acc, partials[job * params.entries + i]);
  }
  workgroupBarrier();
  cells[lane] = acc;
  workgroupBarrier();
  for (var span = 32u; span > 0u; span = span >> 1u) {
    if (lane % 64u < span) {
      acc = merge(acc, cells[lane + span]);
      cells[lane] = acc;
    }
    workgroupBarrier();
  }

  if (lane == 0u) {
    moments[job] = finish(acc, params.epsilon);
  }
}
struct Params { jobs: u32, entries: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> moments: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: Params;

var<workgroup> sums: array<vec2<f32>, 64>;
var<workgroup> apart: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let from0 = job * params.entries;
  let head = partials[from0];
  let pivot = head.y + head.z;
  var sum = vec2<f32>();
    let i0 = lane + 0u;
    let read0 = partials[from0 + min(i0, params.entries - 1u)];
    let i1 = lane + 64u;
    let read1 = partials[from0 + min(i1, params.entries - 1u)];
    let i2 = lane + 128u;
    let read2 = partials[from0 + min(i2, params.entries - 1u)];
    let cell0 = select(vec4<f32>(), read0, i0 < params.entries);
    let off0 = (cell0.y - pivot) + cell0.z;
    let cell1 = select(vec4<f32>(), read1, i1 < params.entries);
    let off1 = (cell1.y - pivot) + cell1.z;
    let cell2 = select(vec4<f32>(), read2, i2 < params.entries);
    let off2 = (cell2.y - pivot) + cell2.z;
    sum = vec2<f32>(sum.x + cell0.x, fma(cell0.x, off0, sum.y));
    sum = vec2<f32>(sum.x + cell1.x, fma(cell1.x, off1, sum.y));
    sum = vec2<f32>(sum.x + cell2.x, fma(cell2.x, off2, sum.y));
  sums[lane] = sum;
  workgroupBarrier();
  for (var span = 32u; span > 0u; span = span >> 1u) {
    if (lane < span) {
      sums[lane] += sums[lane + span];
    }
    workgroupBarrier();
  }
  sum = sums[0];

  let rest = sum.y / max(sum.x, 1.0);
  var squares = 0.0;
    let apart0 = off0 - rest;
    squares = fma(cell0.x * apart0, apart0, squares + cell0.w);
    let apart1 = off1 - rest;
    squares = fma(cell1.x * apart1, apart1, squares + cell1.w);
    let apart2 = off2 - rest;
    squares = fma(cell2.x * apart2, apart2, squares + cell2.w);
  apart[lane] = squares;
  workgroupBarrier();
  for (var span = 32u; span > 0u; span = span >> 1u) {
    if (lane < span) {
      apart[lane] += apart[lane + span];
    }
    workgroupBarrier();
  }
  squares = apart[0];

  if (lane == 0u) {
    moments[job] = vec4<f32>(pivot, rest, inverseSqrt(squares / max(sum.x, 1.0) + params.epsilon), 0.0);
  }
}
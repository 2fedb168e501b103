enable subgroups;
fn part0(v: vec4<f32>) -> vec4<f32> {
  return v;
}

fn stored(a: vec4<f32>) -> vec4<f32> {
  return a;
}

fn added(v: vec4<f32>) -> f32 {
  return (v.x + v.y) + (v.z + v.w);
}



struct Params { rows: u32, hidden: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

var<workgroup> slice_sum_slots: array<f32, 8>;

fn slice_sum(value: f32, subgroup: u32, subgroups: u32) -> f32 {
  let part = subgroupAdd(value);
  if (subgroupElect()) {
    slice_sum_slots[subgroup] = part;
  }
  workgroupBarrier();
  var total = slice_sum_slots[0];
  for (var i = 1u; i < subgroups; i++) {
    total += slice_sum_slots[i];
  }
  return total;
}

const width = 32768u;

@compute @workgroup_size(512)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(num_subgroups) subgroups: u32) {
  let first = group.x * 512u;
  let start = group.y * width;

  var squares = vec4<f32>();
  let i0 = first + lane + 0u;
  let x0 = x[start + i0];
  let skip0 = skip[start + i0];
  let s00 = part0(x0) + part0(skip0);

  squares += s00 * s00;
  let sum = slice_sum(added(squares), subgroup, subgroups);
  if (lane == 0u) {
    partials[group.y * 64u + group.x] = sum;
  }
}
enable subgroups;
fn part0(v: f32) -> f32 {
  return v;
}

fn stored(a: f32) -> f32 {
  return a;
}

fn added(v: f32) -> f32 {
  return v;
}



struct Params { rows: u32, hidden: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

fn row_sum(value: f32) -> f32 {
  var total = value;
  return total;
}

const width = 1u;
const epsilon = f32(0.00001);

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(num_subgroups) subgroups: u32, @builtin(subgroup_size) subgroup_lanes: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let lane = subgroup_lane % 1u;
  let wanted = (group.x + group.y * 65535u) * 256u + subgroup * (subgroup_lanes / 1u) + subgroup_lane / 1u;
  // Lanes without a row of their own follow the last one, so that all take part in the sums; they store nothing.
  let row = min(wanted, params.rows - 1u);
  let own = wanted == row;
  let start = row * width;

  let i0 = lane + 0u;
  let x0 = x[start + i0];
  let skip0 = skip[start + i0];
  let gamma0 = gamma[i0];

  var squares = f32();
  let s00 = part0(x0) + part0(skip0);
  squares += s00 * s00;

  let square_sum = row_sum(added(squares));
  let inverse = inverseSqrt(square_sum / 1.0 + epsilon);
  if (own) { y[start + i0] = stored(s00 * inverse * part0(gamma0)); }
}

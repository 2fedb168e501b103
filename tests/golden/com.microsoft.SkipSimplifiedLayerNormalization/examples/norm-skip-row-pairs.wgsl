enable subgroups;
fn unpack_halves2(word: u32) -> vec2<f32> {
  return unpack2x16float(word);
}

fn unpack_halves4(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}

fn pack_halves2(values: vec2<f32>) -> u32 {
  return pack2x16float(values);
}

fn pack_halves4(values: vec4<f32>) -> vec2<u32> {
  return vec2<u32>(pack2x16float(values.xy), pack2x16float(values.zw));
}



struct Params { rows: u32, hidden: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> skip: array<u32>;
@group(0) @binding(2) var<storage, read> gamma: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<u32>;
@group(0) @binding(4) var<storage, read_write> residual: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;

fn pair_sum(value: vec2<f32>) -> vec2<f32> {
  var total = value;
  return total;
}

// The word in the middle of a pair.
const middle = 0u;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(num_subgroups) subgroups: u32, @builtin(subgroup_size) subgroup_lanes: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let pairs = (params.rows + 1u) / 2u;
  let lane = subgroup_lane % 1u;
  let wanted = (group.x + group.y * 65535u) * 256u + subgroup * (subgroup_lanes / 1u) + subgroup_lane / 1u;
  // Lanes without a pair of their own follow the last one, so that all take part in the sums; they store nothing.
  let pair = min(wanted, pairs - 1u);
  let own = wanted == pair;
  // The last pair may be one row; the second half of its last word belongs to nothing then and is written as zero.
  let both = 2u * pair + 1u < params.rows;
  let first = pair * 1u;
  let second = first + select(0u, middle, both);

  let inside0 = lane + 0u <= middle;
  let i0 = min(lane + 0u, middle);
  let in_second0 = inside0 && both && i0 > 0u;
  let x0 = vec2<u32>(x[first + i0], x[second + i0]);
  let skip0 = vec2<u32>(skip[first + i0], skip[second + i0]);
  let gamma0 = gamma[i0];
  let gamma_before0 = gamma[max(i0, 1u) - 1u];
  let gamma_start = gamma[0];


  var squares = vec2<f32>();
  var a0 = unpack_halves2(x0.x) + unpack_halves2(skip0.x);
  a0.y = select(a0.y, 0.0, !both && i0 == middle);
  let b0 = unpack_halves2(x0.y) + unpack_halves2(skip0.y);
  let a_squares0 = select(vec2<f32>(), a0 * a0, inside0);
  let b_squares0 = select(vec2<f32>(), b0 * b0, in_second0);
  let shared0 = i0 == middle;
  squares += vec2<f32>(a_squares0.x + select(a_squares0.y, 0.0, shared0),
                       (b_squares0.x + b_squares0.y) + select(0.0, a_squares0.y, shared0));

  if (own && inside0) { residual[first + i0] = pack_halves2(a0); }
  if (own && in_second0) { residual[second + i0] = pack_halves2(b0); }

  let square_sum = pair_sum(squares);
  let inverse = inverseSqrt(square_sum / 1.0 + params.epsilon);
  if (own && inside0) { y[first + i0] = pack_halves2(a0 * select(inverse.xx, inverse, shared0) * unpack_halves2(select(gamma0, (gamma0 & 0xffffu) | (gamma_start << 16u), i0 == middle))); }
  if (own && in_second0) { y[second + i0] = pack_halves2(b0 * inverse.y * unpack_halves2((gamma_before0 >> 16u) | (gamma0 << 16u))); }
}

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

// Whether the two halves of word `at` of a pair lie in its first row.
fn in_first(at: u32) -> vec2<bool> {
  return vec2<u32>(2u * at, 2u * at + 1u) < vec2<u32>(params.hidden);
}

// The two columns of word `at`.
fn columns(at: u32) -> vec2<u32> {
  let element = vec2<u32>(2u * at, 2u * at + 1u);
  return select(element - params.hidden, element, in_first(at));
}

// The halves of columns `c` out of the words that hold them.
fn gathered(words: vec2<u32>, c: vec2<u32>) -> vec2<f32> {
  let low = select(words.x & 0xffffu, words.x >> 16u, (c.x & 1u) == 1u);
  let high = select(words.y << 16u, words.y & 0xffff0000u, (c.y & 1u) == 1u);
  return unpack_halves2(low | high);
}

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
  // The last pair may be one row; its last word then has one half that belongs to nothing and is written as zero.
  let elements = min(2u, params.rows - 2u * pair) * params.hidden;
  let words = (elements + 1u) / 2u;
  let start = pair * params.hidden;

  let inside0 = lane + 0u < words;
  let i0 = min(lane + 0u, words - 1u);
  let x0 = x[start + i0];
  let skip0 = skip[start + i0];
  let c0 = columns(i0);
  let gamma0 = vec2<u32>(gamma[c0.x / 2u], gamma[c0.y / 2u]);

  var squares = vec2<f32>();
  var s0 = unpack_halves2(x0) + unpack_halves2(skip0);
  s0.y = select(s0.y, 0.0, 2u * i0 + 1u >= elements);
  let first0 = in_first(i0);
  let squares0 = select(vec2<f32>(), s0 * s0, inside0);
  let of_first0 = select(vec2<f32>(), squares0, first0);
  let of_second0 = select(squares0, vec2<f32>(), first0);
  squares += vec2<f32>(of_first0.x + of_first0.y, of_second0.x + of_second0.y);

  if (own && inside0) { residual[start + i0] = pack_halves2(s0); }

  let square_sum = pair_sum(squares);
  let inverse = inverseSqrt(square_sum / f32(params.hidden) + params.epsilon);
  if (own && inside0) { y[start + i0] = pack_halves2(s0 * select(inverse.yy, inverse.xx, first0) * gathered(gamma0, c0)); }
}

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
@group(0) @binding(4) var<uniform> params: Params;

var<workgroup> pair_sum_slots: array<vec2<f32>, 32>;

fn pair_sum(value: vec2<f32>, subgroup: u32, subgroups: u32) -> vec2<f32> {
  let part = subgroupAdd(value);
  if (subgroupElect()) {
    pair_sum_slots[subgroup] = part;
  }
  workgroupBarrier();
  var total = pair_sum_slots[0];
  for (var i = 1u; i < subgroups; i++) {
    total += pair_sum_slots[i];
  }
  return total;
}

// The word in which the rows of a pair meet; so many words belong to one row alone on either side.
const middle = 63u;
const epsilon = f32(0.00001);
var<workgroup> gamma_row: array<u32, 128>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(num_subgroups) subgroups: u32) {
  let pair = group.x + group.y * 65535u;
  if (2u * pair >= params.rows) {
    return;
  }
  // The last pair may be one row; the second half of its last word belongs to nothing then and is written as zero.
  let both = 2u * pair + 1u < params.rows;
  let first = pair * 127u;
  let second = select(first, first + middle + 1u, both);
  let skipped_a = first % 32u;
  let skipped_b = second % 32u;

  let place0 = lane + 0u;
  let inside_a0 = place0 >= skipped_a && place0 <= skipped_a + middle;
  let inside_b0 = both && place0 >= skipped_b && place0 < skipped_b + middle;
  let i0 = clamp(place0, skipped_a, skipped_a + middle) - skipped_a;
  let j0 = clamp(place0, skipped_b, skipped_b + middle - 1u) - skipped_b;
  let x_a0 = x[first + i0];
  let skip_a0 = skip[first + i0];
  let x_b0 = x[second + j0];
  let skip_b0 = skip[second + j0];
  let gamma_word0 = gamma[min(lane + 0u, middle)];
  gamma_row[lane + 0u] = gamma_word0;


  var squares = vec2<f32>();
  var a0 = unpack_halves2(x_a0) + unpack_halves2(skip_a0);
  a0.y = select(a0.y, 0.0, !both && i0 == middle);
  let b0 = unpack_halves2(x_b0) + unpack_halves2(skip_b0);
  let a_squares0 = select(vec2<f32>(), a0 * a0, inside_a0);
  let b_squares0 = select(vec2<f32>(), b0 * b0, inside_b0);
  let meets0 = i0 == middle;
  squares += vec2<f32>(a_squares0.x + select(a_squares0.y, 0.0, meets0),
                       (b_squares0.x + b_squares0.y) + select(0.0, a_squares0.y, meets0));

  // Behind its barrier all of gamma is there.
  let square_sum = pair_sum(squares, subgroup, subgroups);
  let gamma_start = gamma_row[0] << 16u;
  let gamma_own0 = gamma_row[i0];
  let gamma_a0 = select(gamma_own0, (gamma_own0 & 0xffffu) | gamma_start, i0 == middle);
  let gamma_b0 = (gamma_row[j0] >> 16u) | (gamma_row[j0 + 1u] << 16u);

  let inverse = inverseSqrt(square_sum / 127.0 + epsilon);
if (inside_a0) { y[first + i0] = pack_halves2(a0 * select(inverse.xx, inverse, meets0) * unpack_halves2(gamma_a0)); }
  if (inside_b0) { y[second + j0] = pack_halves2(b0 * inverse.y * unpack_halves2(gamma_b0)); }

}




struct Params { rows: u32, hidden: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> x: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> gamma: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec2<u32>>;
@group(0) @binding(4) var<uniform> params: Params;

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

var<workgroup> row_sum_slots: array<f32, 1>;

fn row_sum(value: f32, lane: u32) -> f32 {
  return value;
}

fn summed(at: u32, column: u32) -> vec4<f32> {
  return unpack_halves4(x[at]) + unpack_halves4(skip[at]);
}

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x + group.y * 65535u;
  if (row >= params.rows) {
    return;
  }
  let width = params.hidden / 4u;
  let start = row * width;

  // Squares are added up in blocks, so that the rounding error does not grow with the length of the row.
  var squares = vec4<f32>(0.0);
  for (var block = lane; block < width; block += 32u) {
    let end = min(block + 32u, width);
    var part = vec4<f32>(0.0);
    for (var i = block; i < end; i += 1u) {
      let s = summed(start + i, i);
      part += s * s;
    }
    squares += part;
  }

  let square_sum = row_sum((squares.x + squares.y) + (squares.z + squares.w), lane);
  let inverse = inverseSqrt(square_sum / f32(params.hidden) + params.epsilon);
  for (var i = lane; i < width; i += 1u) {
    let s = summed(start + i, i);
    let normalized = s * inverse * unpack_halves4(gamma[i]);
    y[start + i] = pack_halves4(normalized);
  }
}

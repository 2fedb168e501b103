


struct Params { rows: u32, hidden: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;


var<workgroup> row_sum_slots: array<f32, 1>;

fn row_sum(value: f32, lane: u32) -> f32 {
  return value;
}

fn summed(start: u32, at: u32) -> f32 {
  return x[start + at] + skip[start + at];
}

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x + group.y * 65535u;
  if (row >= params.rows) {
    return;
  }
  let width = params.hidden;
  let start = row * width;

  // Squares are added up in blocks, so that the rounding error does not grow with the length of the row.
  var squares = f32(0.0);
  for (var block = lane; block < width; block += 32u) {
    let end = min(block + 32u, width);
    var part = f32(0.0);
    for (var i = block; i < end; i += 1u) {
      let s = summed(start, i);
      part += s * s;
    }
    squares += part;
  }

  let square_sum = row_sum(squares, lane);
  let inverse = inverseSqrt(square_sum / f32(params.hidden) + params.epsilon);
  for (var i = lane; i < width; i += 1u) {
    let s = summed(start, i);
    let normalized = s * inverse * gamma[i];
    y[start + i] = normalized;
  }
}

enable f16;
enable subgroups;
fn unpack_halves2(word: u32) -> vec2<f32> {
  return vec2<f32>(bitcast<vec2<f16>>(word));
}

fn unpack_halves4(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(bitcast<vec4<f16>>(words));
}

fn pack_halves2(values: vec2<f32>) -> u32 {
  let all = bitcast<vec2<u32>>(values);
  let magnitude = min(all & vec2<u32>(0x7fffffffu), vec2<u32>(0x47800000u));
  // A sum with the power of two whose last place is the last place of the half is rounded as the half must be.
  let power = max(magnitude & vec2<u32>(0x7f800000u), vec2<u32>(0x38800000u)) + vec2<u32>(0x06800000u);
  let places = bitcast<vec2<u32>>(bitcast<vec2<f32>>(magnitude) + bitcast<vec2<f32>>(power)) - power;
  let number = places + (power >> vec2<u32>(13u)) - vec2<u32>(0x1f800u);
  let value = select(number, vec2<u32>(0x7e00u), (all & vec2<u32>(0x7fffffffu)) > vec2<u32>(0x7f800000u));
  let half = value | ((all >> vec2<u32>(16u)) & vec2<u32>(0x8000u));
  return half.x | (half.y << 16u);
}

fn pack_halves4(values: vec4<f32>) -> vec2<u32> {
  let all = bitcast<vec4<u32>>(values);
  let magnitude = min(all & vec4<u32>(0x7fffffffu), vec4<u32>(0x47800000u));
  // A sum with the power of two whose last place is the last place of the half is rounded as the half must be.
  let power = max(magnitude & vec4<u32>(0x7f800000u), vec4<u32>(0x38800000u)) + vec4<u32>(0x06800000u);
  let places = bitcast<vec4<u32>>(bitcast<vec4<f32>>(magnitude) + bitcast<vec4<f32>>(power)) - power;
  let number = places + (power >> vec4<u32>(13u)) - vec4<u32>(0x1f800u);
  let value = select(number, vec4<u32>(0x7e00u), (all & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
  let half = value | ((all >> vec4<u32>(16u)) & vec4<u32>(0x8000u));
  return half.xz | (half.yw << vec2<u32>(16u));
}

struct Params { rows: u32, hidden: u32, epsilon: f32, rows_per_group: u32 };
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> skip: array<u32>;
@group(0) @binding(2) var<storage, read> gamma: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<u32>;
@group(0) @binding(4) var<storage, read_write> residual: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;

fn inputs_at(at: u32) -> vec2<f32> {
  return unpack_halves2(x[at]) + unpack_halves2(skip[at]);
}


@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let body = params.hidden / 2u;  // words that belong to one row alone
  let first_row = (group.x + group.y * 65535u) * params.rows_per_group;
  let end_row = min(first_row + params.rows_per_group, params.rows);
  for (var row = first_row; row < end_row; row += 2u) {
    let start = row / 2u * params.hidden;
    let both = row + 1u < end_row;
    var squares0 = 0.0;
    var squares1 = 0.0;
    for (var block = lane; block < body; block += body) {
      let end = body;
      var part = vec2<f32>();
      for (var i = block; i < end; i += 8u) {
        let at = start + i;
        let s = inputs_at(at);
        residual[at] = pack_halves2(s);
        part += s * s;
      }
      squares0 += part.x + part.y;
    }

    // The last pair may be one row; the half that belongs to nothing is then written as zero.
    var middle = inputs_at(start + body);
    middle.y = select(0.0, middle.y, both);
    if (lane == 0u) {
      residual[start + body] = pack_halves2(middle);
      squares0 += middle.x * middle.x;
      squares1 += middle.y * middle.y;
    }
    if (both) {
    for (var block = lane; block < body; block += body) {
      let end = body;
      var part = vec2<f32>();
      for (var i = block; i < end; i += 8u) {
        let at = start + body + 1u + i;
        let s = inputs_at(at);
        residual[at] = pack_halves2(s);
        part += s * s;
      }
      squares1 += part.x + part.y;
    }

    }
    let inverse = inverseSqrt(subgroupAdd(vec2<f32>(squares0, squares1)) / f32(params.hidden) + params.epsilon);
    for (var i = lane; i < body; i += 8u) {
      let at = start + i;
      y[at] = pack_halves2((inputs_at(at)) * inverse.x * unpack_halves2(gamma[i]));
    }

    if (lane == 0u) {
      y[start + body] = pack_halves2(middle * inverse * unpack_halves2((gamma[body] & 0xffffu) | (gamma[0] << 16u)));
    }
    if (both) {
    for (var i = lane; i < body; i += 8u) {
      let at = start + body + 1u + i;
      y[at] = pack_halves2((inputs_at(at)) * inverse.y * unpack_halves2((gamma[(i + 1u) - 1u] >> 16u) | (gamma[(i + 1u)] << 16u)));
    }

    }
  }
}

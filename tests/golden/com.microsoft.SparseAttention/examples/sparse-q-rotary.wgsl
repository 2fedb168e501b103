






struct Params { octets: u32, sequence: u32, capacity: u32, limit: u32 };
@group(0) @binding(0) var<storage, read> query: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> rotated_query: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> total_length: array<i32>;
@group(0) @binding(3) var<storage, read> lengths: array<i32>;
@group(0) @binding(4) var<storage, read> cosine: array<vec2<u32>>;
@group(0) @binding(5) var<storage, read> sine: array<vec2<u32>>;
@group(0) @binding(6) var<uniform> params: Params;

fn item_span(item: u32) -> vec2<u32> {
  // Both are asked for at once.
  let total = total_length[0];
  let length = lengths[item];
  let sequence = i32(params.sequence);
  let limit = i32(params.limit);
  let live = max(clamp(length, 0, limit), min(sequence, limit));
  let prompt = vec2<u32>(0u, u32(clamp(length, 0, min(sequence, limit))));
  return select(vec2<u32>(u32(max(live - sequence, 0)), u32(live)), prompt, total == sequence);
}

fn cosine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 8u + column) / 4u;
  return bitcast<vec4<f32>>(vec4<u32>(cosine[2u * at], cosine[2u * at + 1u]));
}

fn sine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 8u + column) / 4u;
  return bitcast<vec4<f32>>(vec4<u32>(sine[2u * at], sine[2u * at + 1u]));
}

struct OctetPair { low: mat2x4<f32>, high: mat2x4<f32> };

fn rotated(x: mat2x4<f32>, y: mat2x4<f32>, position: u32, octet: u32) -> OctetPair {
  let c = mat2x4<f32>(cosine_four(position, octet * 8u), cosine_four(position, octet * 8u + 4u));
  let s = mat2x4<f32>(sine_four(position, octet * 8u), sine_four(position, octet * 8u + 4u));
  return OctetPair(
    mat2x4<f32>(x[0] * c[0] - y[0] * s[0], x[1] * c[1] - y[1] * s[1]),
    mat2x4<f32>(y[0] * c[0] + x[0] * s[0], y[1] * c[1] + x[1] * s[1]));
}

fn load_query(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(query[2u * octet]), bitcast<vec4<f32>>(query[2u * octet + 1u]));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let index = (group.x + group.y * 65535u) * 256u + lane;
  if (index >= params.octets) {
    return;
  }
  let octet = index % 3u;
  let head = (index / 3u) % 4u;
  let token = index / 12u;
  let position = item_span(token / params.sequence).x + token % params.sequence;
  if (position >= params.limit) {
    return;
  }
  let source = (token * 6u + head) * 3u;
  let to = (token * 4u + head) * 3u;
  let own_0 = query[2u * (source + octet) + 0u];
  let own_1 = query[2u * (source + octet) + 1u];
  let turns = octet < 2u;
  let x = load_query(source + octet);
  let low = octet < 1u;
  let y = load_query(source + select(octet, select(octet - 1u, octet + 1u, low), turns));
  let column = octet % 1u * 8u;
  let c = mat2x4<f32>(cosine_four(position, column), cosine_four(position, column + 4u));
  let s = mat2x4<f32>(sine_four(position, column), sine_four(position, column + 4u)) * select(1.0, -1.0, low);
  let turned = mat2x4<f32>(x[0] * c[0] + y[0] * s[0], x[1] * c[1] + y[1] * s[1]);
  rotated_query[2u * (to + octet) + 0u] = select(own_0, bitcast<vec4<u32>>(turned[0]), vec4<bool>(turns));
  rotated_query[2u * (to + octet) + 1u] = select(own_1, bitcast<vec4<u32>>(turned[1]), vec4<bool>(turns));
}
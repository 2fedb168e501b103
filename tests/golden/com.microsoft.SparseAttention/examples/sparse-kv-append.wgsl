






struct Params { octets: u32, sequence: u32, capacity: u32, limit: u32 };
@group(0) @binding(0) var<storage, read> key: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> value: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> past_key: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> past_value: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> total_length: array<i32>;
@group(0) @binding(5) var<storage, read> lengths: array<i32>;
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let index = (group.x + group.y * 65535u) * 256u + lane;
  if (index >= params.octets) {
    return;
  }
  let octet = index % 1u;
  let kv_head = (index / 1u) % 2u;
  let token = index / 2u;
  let item = token / params.sequence;
  let position = item_span(item).x + token % params.sequence;
  if (position >= params.limit) {
    return;
  }
  let row = ((item * 2u + kv_head) * params.capacity + position) * 1u;
  let key_head = (token * 2u + 0u + kv_head) * 1u;
  let value_at = 2u * (key_head + 0u + octet);
  let value_0 = value[value_at + 0u];
  let value_1 = value[value_at + 1u];
  let own_0 = key[2u * (key_head + octet) + 0u];
  let own_1 = key[2u * (key_head + octet) + 1u];
  past_value[2u * (row + octet) + 0u] = value_0;
  past_value[2u * (row + octet) + 1u] = value_1;
  past_key[2u * (row + octet) + 0u] = own_0;
  past_key[2u * (row + octet) + 1u] = own_1;
}
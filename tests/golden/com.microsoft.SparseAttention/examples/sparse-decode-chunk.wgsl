enable f16;
enable subgroups;
diagnostic(off, subgroup_uniformity);
fn unpack_halves2(word: u32) -> vec2<f32> {
  return vec2<f32>(bitcast<vec2<f16>>(word));
}

fn unpack_halves4(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(bitcast<vec4<f16>>(words));
}

fn pack_halves2(values: vec2<f32>) -> u32 {
  return bitcast<u32>(vec2<f16>(values));
}

fn pack_halves4(values: vec4<f32>) -> vec2<u32> {
  return bitcast<vec2<u32>>(vec4<f16>(values));
}







struct Params { tiles: u32, token_tiles: u32, sequence: u32, capacity: u32, limit: u32, layouts: u32, blocks: u32, columns: u32, scale: f32, masked: f32, tail_start: u32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> query: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> key: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> value: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> past_key: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> past_value: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> block_rows: array<i32>;
@group(0) @binding(6) var<storage, read> block_columns: array<i32>;
@group(0) @binding(7) var<storage, read> total_length: array<i32>;
@group(0) @binding(8) var<storage, read> lengths: array<i32>;
@group(0) @binding(9) var<storage, read> cosine: array<vec2<u32>>;
@group(0) @binding(10) var<storage, read> sine: array<vec2<u32>>;
@group(0) @binding(11) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(12) var<uniform> params: Params;

const kUnset: f32 = -1.0e30;
const kMasked: f32 = -2.0e30;

fn live_span(total: i32, length: i32) -> vec2<u32> {
  let limit = 320;
  let least = min(1, limit);
  let live = max(clamp(length, 0, limit), least);
  return select(vec2<u32>(u32(max(live - 1, 0)), u32(live)), vec2<u32>(0u, u32(clamp(length, 0, least))), total == 1);
}

fn load_query(octet: u32) -> mat2x4<f32> {
  let words = query[octet];
  return mat2x4<f32>(unpack_halves4(words.xy), unpack_halves4(words.zw));
}

fn octet_of(words: vec4<u32>) -> mat2x4<f32> {
  return mat2x4<f32>(unpack_halves4(words.xy), unpack_halves4(words.zw));
}

fn cosine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 64u + column) / 4u;
  return unpack_halves4(cosine[at]);
}

fn sine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 64u + column) / 4u;
  return unpack_halves4(sine[at]);
}


struct Turn { c: mat2x4<f32>, s: mat2x4<f32> };

fn turn_at(position: u32, octet: u32) -> Turn {
  let low = octet < 8u;
  let column = min(select(octet - 8u, octet, low), 7u) * 8u;
  let sign = select(1.0, -1.0, low);
  return Turn(mat2x4<f32>(cosine_four(position, column), cosine_four(position, column + 4u)),
              mat2x4<f32>(sine_four(position, column), sine_four(position, column + 4u)) * sign);
}

fn partner_of(octet: u32) -> u32 {
  return select(select(octet, octet - 8u, octet < 16u), octet + 8u, octet < 8u);
}

fn turned(x: mat2x4<f32>, partner: mat2x4<f32>, turn: Turn, octet: u32) -> mat2x4<f32> {
  let y = partner;
  let low = x[0] * turn.c[0] + y[0] * turn.s[0];
  let high = x[1] * turn.c[1] + y[1] * turn.s[1];
  return mat2x4<f32>(low, high);
}

fn rounded(x: mat2x4<f32>) -> mat2x4<f32> {
  let low = bitcast<vec4<u32>>(x[0]);
  let high = bitcast<vec4<u32>>(x[1]);
  let odd = vec4<u32>(0xfffu);
  let keep = vec4<u32>(0xffffe000u);
  let one = vec4<u32>(1u);
  let shift = vec4<u32>(13u);
  return mat2x4<f32>(bitcast<vec4<f32>>((low + odd + ((low >> shift) & one)) & keep),
                     bitcast<vec4<f32>>((high + odd + ((high >> shift) & one)) & keep));
}

var<workgroup> weights: array<vec4<f32>, 16>;
var<workgroup> part_stats: array<vec2<f32>, 4>;
var<workgroup> listed: array<u32, 2>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let index = workgroup.x + workgroup.y * 65535u;
  let split = index % 10u;
  let head_group = index / 10u % 2u;
  let item = index / 20u;
  let kv_head = head_group / 2u;
  let first_head = kv_head * 4u + head_group % 2u * 2u;
  // For the scores a lane has an octet of a group's keys, for the sums one of other keys.
  let group = subgroup * 2u + lane / 16u;
  let group_lane = lane % 16u;
  let octet0 = group_lane;
  let safe_octet0 = octet0;
  let value_group = lane / 8u;
  let value_octet = subgroup * 8u + lane % 8u;
  let cache_head = (item * 1u + kv_head) * 320u * 16u;
  let key_start = split * 32u + group * 8u;
  let value_key = split * 32u + value_group * 8u;
  let partner0 = partner_of(octet0);

  // What depends on no other load is asked for at once.
  let total = total_length[0];
  let length = lengths[item];
  let own_row0 = min(first_head + (subgroup + 0u) % 2u, 3u) % 2u;
  let bounds0_0 = block_rows[own_row0 * 21u + min(lane, 20u)];
  let key_at0 = cache_head + octet0 + (key_start + 0u) * 16u;
  let key0_0_w0 = past_key[1u * key_at0 + 0u];
  let key_at1 = cache_head + octet0 + (key_start + 1u) * 16u;
  let key1_0_w0 = past_key[1u * key_at1 + 0u];
  let key_at2 = cache_head + octet0 + (key_start + 2u) * 16u;
  let key2_0_w0 = past_key[1u * key_at2 + 0u];
  let key_at3 = cache_head + octet0 + (key_start + 3u) * 16u;
  let key3_0_w0 = past_key[1u * key_at3 + 0u];
  let key_at4 = cache_head + octet0 + (key_start + 4u) * 16u;
  let key4_0_w0 = past_key[1u * key_at4 + 0u];
  let key_at5 = cache_head + octet0 + (key_start + 5u) * 16u;
  let key5_0_w0 = past_key[1u * key_at5 + 0u];
  let key_at6 = cache_head + octet0 + (key_start + 6u) * 16u;
  let key6_0_w0 = past_key[1u * key_at6 + 0u];
  let key_at7 = cache_head + octet0 + (key_start + 7u) * 16u;
  let key7_0_w0 = past_key[1u * key_at7 + 0u];
  let head0 = first_head + 0u;
  let raw0_0 = load_query((item * 4u + head0) * 16u + octet0);
  let raw_partner0_0 = load_query((item * 4u + head0) * 16u + partner0);
  let head1 = first_head + 1u;
  let raw1_0 = load_query((item * 4u + head1) * 16u + octet0);
  let raw_partner1_0 = load_query((item * 4u + head1) * 16u + partner0);
  // The last split takes the new token.
  let takes_new = split == 9u;
  var new_key0_w0 = vec4<u32>();
  var new_value0_w0 = vec4<u32>();
  var new_partner0_w0 = vec4<u32>();
  {
    let key_at = (item * 1u + kv_head) * 16u;
    let value_at = key_at;
    new_key0_w0 = key[1u * (key_at + safe_octet0) + 0u];
    new_value0_w0 = value[1u * (value_at + value_octet) + 0u];
    new_partner0_w0 = key[1u * (key_at + partner0) + 0u];
  }
// What depends on the lengths: the lists, the rotary tables.
  let span = live_span(total, length);
  let position = span.x;
  let end = min(position, span.y);  // of the keys that are read from the cache
  let block_row = min(position / 16u, 19u);
  let turn0 = turn_at(position, octet0);
  let begin0 = clamp(subgroupShuffle(bounds0_0, (block_row) % 32u), 0, 110);
  let stop0 = clamp(subgroupShuffle(bounds0_0, (block_row + 1u) % 32u), 0, 110);
  let column0 = block_columns[own_row0 * 110u + min(u32(begin0) + lane, 109u)];

  // The values come last, so that nothing that the scores need waits behind them.
  let last_key = select(0u, end - 1u, end > 0u);
  let value_at0 = cache_head + value_octet + min(value_key + 0u, last_key) * 16u;
  let value0_0_w0 = past_value[1u * value_at0 + 0u];
  let value_at1 = cache_head + value_octet + min(value_key + 1u, last_key) * 16u;
  let value1_0_w0 = past_value[1u * value_at1 + 0u];
  let value_at2 = cache_head + value_octet + min(value_key + 2u, last_key) * 16u;
  let value2_0_w0 = past_value[1u * value_at2 + 0u];
  let value_at3 = cache_head + value_octet + min(value_key + 3u, last_key) * 16u;
  let value3_0_w0 = past_value[1u * value_at3 + 0u];
  let value_at4 = cache_head + value_octet + min(value_key + 4u, last_key) * 16u;
  let value4_0_w0 = past_value[1u * value_at4 + 0u];
  let value_at5 = cache_head + value_octet + min(value_key + 5u, last_key) * 16u;
  let value5_0_w0 = past_value[1u * value_at5 + 0u];
  let value_at6 = cache_head + value_octet + min(value_key + 6u, last_key) * 16u;
  let value6_0_w0 = past_value[1u * value_at6 + 0u];
  let value_at7 = cache_head + value_octet + min(value_key + 7u, last_key) * 16u;
  let value7_0_w0 = past_value[1u * value_at7 + 0u];

  let q0_0 = rounded(turned(raw0_0, raw_partner0_0, turn0, octet0)) * params.scale;
  let q1_0 = rounded(turned(raw1_0, raw_partner1_0, turn0, octet0)) * params.scale;
      var score0_0 = 0.0;
      var score0_1 = 0.0;
      var score0_2 = 0.0;
      var score0_3 = 0.0;
      var score0_4 = 0.0;
      var score0_5 = 0.0;
      var score0_6 = 0.0;
      var score0_7 = 0.0;
      var score0_8 = 0.0;
      var score0_9 = 0.0;
      var score0_10 = 0.0;
      var score0_11 = 0.0;
      var score0_12 = 0.0;
      var score0_13 = 0.0;
      var score0_14 = 0.0;
      var score0_15 = 0.0;
      {
        let key = octet_of(key0_0_w0);
        score0_0 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_1 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key1_0_w0);
        score0_2 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_3 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key2_0_w0);
        score0_4 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_5 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key3_0_w0);
        score0_6 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_7 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key4_0_w0);
        score0_8 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_9 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key5_0_w0);
        score0_10 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_11 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key6_0_w0);
        score0_12 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_13 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let key = octet_of(key7_0_w0);
        score0_14 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score0_15 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
      }
      {
        let upper = (group_lane & 1u) != 0u;
        score0_0 = select(score0_0, score0_8, upper) + subgroupShuffleXor(select(score0_8, score0_0, upper), 1u);
        score0_1 = select(score0_1, score0_9, upper) + subgroupShuffleXor(select(score0_9, score0_1, upper), 1u);
        score0_2 = select(score0_2, score0_10, upper) + subgroupShuffleXor(select(score0_10, score0_2, upper), 1u);
        score0_3 = select(score0_3, score0_11, upper) + subgroupShuffleXor(select(score0_11, score0_3, upper), 1u);
        score0_4 = select(score0_4, score0_12, upper) + subgroupShuffleXor(select(score0_12, score0_4, upper), 1u);
        score0_5 = select(score0_5, score0_13, upper) + subgroupShuffleXor(select(score0_13, score0_5, upper), 1u);
        score0_6 = select(score0_6, score0_14, upper) + subgroupShuffleXor(select(score0_14, score0_6, upper), 1u);
        score0_7 = select(score0_7, score0_15, upper) + subgroupShuffleXor(select(score0_15, score0_7, upper), 1u);
      }
      {
        let upper = (group_lane & 2u) != 0u;
        score0_0 = select(score0_0, score0_4, upper) + subgroupShuffleXor(select(score0_4, score0_0, upper), 2u);
        score0_1 = select(score0_1, score0_5, upper) + subgroupShuffleXor(select(score0_5, score0_1, upper), 2u);
        score0_2 = select(score0_2, score0_6, upper) + subgroupShuffleXor(select(score0_6, score0_2, upper), 2u);
        score0_3 = select(score0_3, score0_7, upper) + subgroupShuffleXor(select(score0_7, score0_3, upper), 2u);
      }
      {
        let upper = (group_lane & 4u) != 0u;
        score0_0 = select(score0_0, score0_2, upper) + subgroupShuffleXor(select(score0_2, score0_0, upper), 4u);
        score0_1 = select(score0_1, score0_3, upper) + subgroupShuffleXor(select(score0_3, score0_1, upper), 4u);
      }
      {
        let upper = (group_lane & 8u) != 0u;
        score0_0 = select(score0_0, score0_1, upper) + subgroupShuffleXor(select(score0_1, score0_0, upper), 8u);
      }
// Each lane has the score of a head and key, the lanes of a subgroup the largest of its keys.
  let pair_key = reverseBits(group_lane & 7u) >> 29u;
  let pair_head = reverseBits((group_lane / 8u) & 1u) >> 31u;
  {
    let masked = select(kMasked, score0_0, key_start + pair_key < end);
    var top = max(masked, kUnset);
    top = max(top, subgroupShuffleXor(top, 1u));
    top = max(top, subgroupShuffleXor(top, 2u));
    top = max(top, subgroupShuffleXor(top, 4u));
    top = max(top, subgroupShuffleXor(top, 16u));
    let weight = exp2(masked - top);
    let four = vec4<f32>(quadBroadcast(weight, 0u), quadBroadcast(weight, 1u), quadBroadcast(weight, 2u), quadBroadcast(weight, 3u));
    var share = weight;
    share += subgroupShuffleXor(share, 1u);
    share += subgroupShuffleXor(share, 2u);
    share += subgroupShuffleXor(share, 4u);
    share += subgroupShuffleXor(share, 16u);
    let head = pair_head + 0u;
    if (group_lane < 16u) {
      if (group_lane % 4u == 0u) {
        weights[(group * 2u + head) * 2u + (group_lane & 7u) / 4u] = four;
      }
      if (lane < 16u && (group_lane & 7u) == 0u) {
        part_stats[head * 2u + subgroup] = vec2<f32>(top, share);
      }
    }
  }
  // Bits: blocks of the chunk that a head lists, from 16 on the diagonal.
  let last = select(i32(min(block_row, (end - 1u) / 16u)), -1, end == 0u);
  let start = i32(split * 32u / 16u);
  {
    var seen = 0u;
    {
      let inside = begin0 + i32(lane) < stop0;
    seen |= select(0u, 1u, inside && column0 <= last && column0 == start);
    seen |= select(0u, 2u, inside && column0 <= last && column0 == start + 1);
    seen |= select(0u, 0x10000u, inside && column0 == i32(block_row));
}
    for (var i = begin0 + i32(lane) + 32; i < stop0; i += 32) {
      let inside = true;
      let column = block_columns[own_row0 * 110u + u32(i)];
    seen |= select(0u, 1u, inside && column <= last && column == start);
    seen |= select(0u, 2u, inside && column <= last && column == start + 1);
    seen |= select(0u, 0x10000u, inside && column == i32(block_row));
}
    seen = subgroupOr(seen);
    if (lane == 0u && subgroup + 0u < 2u) {
      listed[subgroup + 0u] = seen;
    }
  }
  var new_score0 = kMasked;
  var new_score1 = kMasked;
  if (takes_new) {
    let row = cache_head + position * 16u;
    let appends = head_group % 2u == 0u && position < 320u;
      var new_octet = octet_of(new_key0_w0);
      if (octet0 < 16u) {
        let turned_key = turned(new_octet, octet_of(new_partner0_w0), turn0, octet0);
        new_octet = rounded(turned_key);
        new_key0_w0 = vec4<u32>(pack_halves4(turned_key[0]), pack_halves4(turned_key[1]));
      }

    if (appends && group == 0u) {
      past_key[1u * (row + octet0) + 0u] = new_key0_w0;
    }
    if (appends && value_group == 0u) {
      past_value[1u * (row + value_octet) + 0u] = new_value0_w0;
    }
    new_score0 = dot(q0_0[0], new_octet[0]) + dot(q0_0[1], new_octet[1]);
    new_score0 += subgroupShuffleXor(new_score0, 1u);
    new_score0 += subgroupShuffleXor(new_score0, 2u);
    new_score0 += subgroupShuffleXor(new_score0, 4u);
    new_score0 += subgroupShuffleXor(new_score0, 8u);
    new_score1 = dot(q1_0[0], new_octet[0]) + dot(q1_0[1], new_octet[1]);
    new_score1 += subgroupShuffleXor(new_score1, 1u);
    new_score1 += subgroupShuffleXor(new_score1, 2u);
    new_score1 += subgroupShuffleXor(new_score1, 4u);
    new_score1 += subgroupShuffleXor(new_score1, 8u);
  }
  workgroupBarrier();

  // The weights of a lane's keys are relative to the largest score of the subgroup that had them.
  let value_part = value_group / 2u;
  let listed0 = listed[0];
  let own_stats0 = part_stats[0u + value_part].x;
  let top0_0 = select(kUnset, part_stats[0].x, ((listed0 >> 0u) & 1u) != 0u);
  let top0_1 = select(kUnset, part_stats[1].x, ((listed0 >> 1u) & 1u) != 0u);
  let new_live0 = takes_new && (listed0 >> 16u) != 0u && position < span.y;
  let top0 = max(select(kUnset, new_score0, new_live0), max(top0_0, top0_1));
  let live0 = ((listed0 >> (value_part * 16u / 16u)) & 1u) != 0u;
  let factor0 = exp2(select(kMasked, own_stats0, live0) - top0);
  let new_weight0 = select(0.0, exp2(new_score0 - top0), new_live0);
  var sum0 = mat2x4<f32>();
  let weight0_0 = weights[(value_group * 2u + 0u) * 2u + 0u];
  let weight0_1 = weights[(value_group * 2u + 0u) * 2u + 1u];
  let listed1 = listed[1];
  let own_stats1 = part_stats[2u + value_part].x;
  let top1_0 = select(kUnset, part_stats[2].x, ((listed1 >> 0u) & 1u) != 0u);
  let top1_1 = select(kUnset, part_stats[3].x, ((listed1 >> 1u) & 1u) != 0u);
  let new_live1 = takes_new && (listed1 >> 16u) != 0u && position < span.y;
  let top1 = max(select(kUnset, new_score1, new_live1), max(top1_0, top1_1));
  let live1 = ((listed1 >> (value_part * 16u / 16u)) & 1u) != 0u;
  let factor1 = exp2(select(kMasked, own_stats1, live1) - top1);
  let new_weight1 = select(0.0, exp2(new_score1 - top1), new_live1);
  var sum1 = mat2x4<f32>();
  let weight1_0 = weights[(value_group * 2u + 1u) * 2u + 0u];
  let weight1_1 = weights[(value_group * 2u + 1u) * 2u + 1u];
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value0_0_w0, value_key + 0u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_0[0];
    sum1 += value * weight1_0[0];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value1_0_w0, value_key + 1u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_1[0];
    sum1 += value * weight1_1[0];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value2_0_w0, value_key + 2u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_0[2];
    sum1 += value * weight1_0[2];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value3_0_w0, value_key + 3u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_1[2];
    sum1 += value * weight1_1[2];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value4_0_w0, value_key + 4u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_0[1];
    sum1 += value * weight1_0[1];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value5_0_w0, value_key + 5u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_1[1];
    sum1 += value * weight1_1[1];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value6_0_w0, value_key + 6u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_0[3];
    sum1 += value * weight1_0[3];
  }
  {
    // Rows beyond the end may hold anything.
    let value_w0 = select(vec4<u32>(), value7_0_w0, value_key + 7u < end);
    let value = octet_of(value_w0);
    sum0 += value * weight0_1[3];
    sum1 += value * weight1_1[3];
  }
  var item0 = select(vec4<f32>(), sum0[0] * factor0, live0);
  var item1 = select(vec4<f32>(), sum0[1] * factor0, live0);
  var item2 = select(vec4<f32>(), sum1[0] * factor1, live1);
  var item3 = select(vec4<f32>(), sum1[1] * factor1, live1);
  if (takes_new && value_group == 0u) {
    let value = octet_of(new_value0_w0);
    item0 += select(vec4<f32>(), value[0] * new_weight0, new_live0);
    item1 += select(vec4<f32>(), value[1] * new_weight0, new_live0);
    item2 += select(vec4<f32>(), value[0] * new_weight1, new_live1);
    item3 += select(vec4<f32>(), value[1] * new_weight1, new_live1);
  }

  // Sums over the groups of lanes; each lane goes on with half of what it has while there is more than one.
  {
    let upper = (lane & 16u) != 0u;
    item0 = select(item0, item2, upper) + subgroupShuffleXor(select(item2, item0, upper), 16u);
    item1 = select(item1, item3, upper) + subgroupShuffleXor(select(item3, item1, upper), 16u);
  }
  {
    let upper = (lane & 8u) != 0u;
    item0 = select(item0, item1, upper) + subgroupShuffleXor(select(item1, item0, upper), 8u);
  }
  let first_item = lane / 8u * 1u;
  let speaks = true;
  if (speaks) {
    {
      let h = (first_item + 0u) / 2u;
      {
        partials[((item * 4u + first_head + h) * 10u + split) * 33u + value_octet * 2u + (first_item + 0u) % 2u] = item0;
      }
    }
  }
  if (subgroup == 1u && lane < 2u) {
    let top = select(top1, top0, lane == 0u);
    var sum = select(new_weight1, new_weight0, lane == 0u);
    let bits = listed[lane];
    {
      let stats = part_stats[lane * 2u + 0u];
      sum += select(0.0, stats.y * exp2(stats.x - top), ((bits >> 0u) & 1u) != 0u);
    }
    {
      let stats = part_stats[lane * 2u + 1u];
      sum += select(0.0, stats.y * exp2(stats.x - top), ((bits >> 1u) & 1u) != 0u);
    }
    partials[((item * 4u + first_head + lane) * 10u + split) * 33u + 32u] = vec4<f32>(top, sum, 0.0, 0.0);
  }
}
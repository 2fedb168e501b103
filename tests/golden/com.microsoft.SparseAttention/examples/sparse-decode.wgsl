enable subgroups;
diagnostic(off, subgroup_uniformity);







struct Params { tiles: u32, token_tiles: u32, sequence: u32, capacity: u32, limit: u32, layouts: u32, blocks: u32, columns: u32, scale: f32, masked: f32, tail_start: u32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> query: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> past_key: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> past_value: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> block_rows: array<i32>;
@group(0) @binding(4) var<storage, read> block_columns: array<i32>;
@group(0) @binding(5) var<storage, read> total_length: array<i32>;
@group(0) @binding(6) var<storage, read> lengths: array<i32>;
@group(0) @binding(7) var<storage, read> cosine: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read> sine: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(10) var<uniform> params: Params;

const kUnset: f32 = -1.0e30;
const kMasked: f32 = -2.0e30;

fn live_span(total: i32, length: i32) -> vec2<u32> {
  let limit = 160;
  let least = min(1, limit);
  let live = max(clamp(length, 0, limit), least);
  return select(vec2<u32>(u32(max(live - 1, 0)), u32(live)), vec2<u32>(0u, u32(clamp(length, 0, least))), total == 1);
}

fn load_query(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(query[2u * octet]), bitcast<vec4<f32>>(query[2u * octet + 1u]));
}

fn octet_of(low: vec4<u32>, high: vec4<u32>) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(low), bitcast<vec4<f32>>(high));
}

fn cosine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 8u + column) / 4u;
  return bitcast<vec4<f32>>(vec4<u32>(cosine[2u * at], cosine[2u * at + 1u]));
}

fn sine_four(position: u32, column: u32) -> vec4<f32> {
  let at = (position * 8u + column) / 4u;
  return bitcast<vec4<f32>>(vec4<u32>(sine[2u * at], sine[2u * at + 1u]));
}


struct Turn { c: mat2x4<f32>, s: mat2x4<f32> };

fn turn_at(position: u32, octet: u32) -> Turn {
  let low = octet < 1u;
  let column = min(select(octet - 1u, octet, low), 0u) * 8u;
  let sign = select(1.0, -1.0, low);
  return Turn(mat2x4<f32>(cosine_four(position, column), cosine_four(position, column + 4u)),
              mat2x4<f32>(sine_four(position, column), sine_four(position, column + 4u)) * sign);
}

fn partner_of(octet: u32) -> u32 {
  return select(select(octet, octet - 1u, octet < 2u), octet + 1u, octet < 1u);
}

fn turned(x: mat2x4<f32>, partner: mat2x4<f32>, turn: Turn, octet: u32) -> mat2x4<f32> {
  let y = partner;
  let low = x[0] * turn.c[0] + y[0] * turn.s[0];
  let high = x[1] * turn.c[1] + y[1] * turn.s[1];
  let turns = octet < 2u;
  return mat2x4<f32>(select(x[0], low, turns), select(x[1], high, turns));
}

fn rounded(x: mat2x4<f32>) -> mat2x4<f32> {
  return x;
}


var<workgroup> part_stats: array<vec2<f32>, 128>;
var<workgroup> merged: array<mat2x4<f32>, 256>;


@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let index = workgroup.x + workgroup.y * 65535u;
  let split = index % 2u;
  let head_group = index / 2u % 1u;
  let item = index / 2u;
  let kv_head = head_group / 1u;
  let first_head = kv_head * 4u + head_group % 1u * 4u;
  let linear = subgroup * subgroup_size + subgroup_lane;
  let group = linear / 4u;
  let group_lane = linear % 4u;

  let cache_head = (item * 1u + kv_head) * 160u * 3u;

  // What depends on no other load is asked for at once: the lengths, the query, the new token, this split's only keys.
  let octet0 = group_lane + 0u;
  let has0 = octet0 < 3u;
  let safe_octet0 = min(octet0, 2u);
  let partner0 = partner_of(safe_octet0);
  let total = total_length[0];
  let length = lengths[item];
  let mask_row0 = (first_head + 0u) % 2u;
  let bounds0_0 = block_rows[mask_row0 * 6u + min(subgroup_lane, 5u)];
  let mask_row1 = (first_head + 1u) % 2u;
  let bounds1_0 = block_rows[mask_row1 * 6u + min(subgroup_lane, 5u)];
  let mask_row2 = (first_head + 2u) % 2u;
  let bounds2_0 = block_rows[mask_row2 * 6u + min(subgroup_lane, 5u)];
  let mask_row3 = (first_head + 3u) % 2u;
  let bounds3_0 = block_rows[mask_row3 * 6u + min(subgroup_lane, 5u)];
  let key_start = split * 128u + group * 4u;
      let at0 = cache_head + min(key_start + 0u, 160u - 1u) * 3u;
      let at1 = cache_head + min(key_start + 1u, 160u - 1u) * 3u;
      let at2 = cache_head + min(key_start + 2u, 160u - 1u) * 3u;
      let at3 = cache_head + min(key_start + 3u, 160u - 1u) * 3u;
      let key0_0_w0 = select(vec4<u32>(), past_key[2u * (at0 + safe_octet0) + 0u], has0);
      let key0_0_w1 = select(vec4<u32>(), past_key[2u * (at0 + safe_octet0) + 1u], has0);
      let key1_0_w0 = select(vec4<u32>(), past_key[2u * (at1 + safe_octet0) + 0u], has0);
      let key1_0_w1 = select(vec4<u32>(), past_key[2u * (at1 + safe_octet0) + 1u], has0);
      let key2_0_w0 = select(vec4<u32>(), past_key[2u * (at2 + safe_octet0) + 0u], has0);
      let key2_0_w1 = select(vec4<u32>(), past_key[2u * (at2 + safe_octet0) + 1u], has0);
      let key3_0_w0 = select(vec4<u32>(), past_key[2u * (at3 + safe_octet0) + 0u], has0);
      let key3_0_w1 = select(vec4<u32>(), past_key[2u * (at3 + safe_octet0) + 1u], has0);
      let early_value0_0_w0 = select(vec4<u32>(), past_value[2u * (at0 + safe_octet0) + 0u], has0);
      let early_value0_0_w1 = select(vec4<u32>(), past_value[2u * (at0 + safe_octet0) + 1u], has0);
      let early_value1_0_w0 = select(vec4<u32>(), past_value[2u * (at1 + safe_octet0) + 0u], has0);
      let early_value1_0_w1 = select(vec4<u32>(), past_value[2u * (at1 + safe_octet0) + 1u], has0);
      let early_value2_0_w0 = select(vec4<u32>(), past_value[2u * (at2 + safe_octet0) + 0u], has0);
      let early_value2_0_w1 = select(vec4<u32>(), past_value[2u * (at2 + safe_octet0) + 1u], has0);
      let early_value3_0_w0 = select(vec4<u32>(), past_value[2u * (at3 + safe_octet0) + 0u], has0);
      let early_value3_0_w1 = select(vec4<u32>(), past_value[2u * (at3 + safe_octet0) + 1u], has0);
  let head0 = first_head + 0u;
  let raw0_0 = load_query((item * 6u + head0) * 3u + safe_octet0);
  let raw_partner0_0 = load_query((item * 6u + head0) * 3u + partner0);
  let head1 = first_head + 1u;
  let raw1_0 = load_query((item * 6u + head1) * 3u + safe_octet0);
  let raw_partner1_0 = load_query((item * 6u + head1) * 3u + partner0);
  let head2 = first_head + 2u;
  let raw2_0 = load_query((item * 6u + head2) * 3u + safe_octet0);
  let raw_partner2_0 = load_query((item * 6u + head2) * 3u + partner0);
  let head3 = first_head + 3u;
  let raw3_0 = load_query((item * 6u + head3) * 3u + safe_octet0);
  let raw_partner3_0 = load_query((item * 6u + head3) * 3u + partner0);
  // The lists' place is not known yet; what may hold them comes into the cache meanwhile.
  let touch_row = (first_head + lane % 4u) % 2u;
  let touch_line = lane / 4u;
  let touched1 = block_columns[touch_row * 11u + min((touch_line + 0u) * 32u, 10u)];
  // The last split begins with the new token; the first head group appends it.
  let takes_new = split == 1u;
  var new_key0_w0 = vec4<u32>();
  var new_value0_w0 = vec4<u32>();
  var new_partner0_w0 = vec4<u32>();
  var new_key0_w1 = vec4<u32>();
  var new_value0_w1 = vec4<u32>();
  var new_partner0_w1 = vec4<u32>();
  {
    let key_at = (item * 6u + 4u + kv_head) * 3u;
    let value_at = key_at + 3u;
    new_key0_w0 = select(vec4<u32>(), query[2u * (key_at + safe_octet0) + 0u], has0);
    new_value0_w0 = query[2u * (value_at + safe_octet0) + 0u];
    new_partner0_w0 = query[2u * (key_at + partner0) + 0u];
    new_key0_w1 = select(vec4<u32>(), query[2u * (key_at + safe_octet0) + 1u], has0);
    new_value0_w1 = query[2u * (value_at + safe_octet0) + 1u];
    new_partner0_w1 = query[2u * (key_at + partner0) + 1u];
  }

  // What depends on the lengths: the bounds of the lists, the rotary tables.
  let span = live_span(total, length);
  let position = span.x;
  // Keys that are read from the cache.
  let end = min(position, span.y);
  let block_row = min(position / 32u, 4u);
  let raw_begin0 = subgroupShuffle(bounds0_0, (block_row) % 64u);
  let raw_stop0 = subgroupShuffle(bounds0_0, (block_row + 1u) % 64u);
  let raw_begin1 = subgroupShuffle(bounds1_0, (block_row) % 64u);
  let raw_stop1 = subgroupShuffle(bounds1_0, (block_row + 1u) % 64u);
  let raw_begin2 = subgroupShuffle(bounds2_0, (block_row) % 64u);
  let raw_stop2 = subgroupShuffle(bounds2_0, (block_row + 1u) % 64u);
  let raw_begin3 = subgroupShuffle(bounds3_0, (block_row) % 64u);
  let raw_stop3 = subgroupShuffle(bounds3_0, (block_row + 1u) % 64u);
  let turn0 = turn_at(position, safe_octet0);
  let begin0 = clamp(raw_begin0, 0, 11);
  let stop0 = clamp(raw_stop0, 0, 11);
  let begin1 = clamp(raw_begin1, 0, 11);
  let stop1 = clamp(raw_stop1, 0, 11);
  let begin2 = clamp(raw_begin2, 0, 11);
  let stop2 = clamp(raw_stop2, 0, 11);
  let begin3 = clamp(raw_begin3, 0, 11);
  let stop3 = clamp(raw_stop3, 0, 11);
  // The first columns of every list.
  let early_column0 = block_columns[mask_row0 * 11u + min(u32(begin0) + subgroup_lane, 10u)];
  let early_column1 = block_columns[mask_row1 * 11u + min(u32(begin1) + subgroup_lane, 10u)];
  let early_column2 = block_columns[mask_row2 * 11u + min(u32(begin2) + subgroup_lane, 10u)];
  let early_column3 = block_columns[mask_row3 * 11u + min(u32(begin3) + subgroup_lane, 10u)];
  var q0_0 = rounded(turned(raw0_0, raw_partner0_0, turn0, safe_octet0)) * params.scale;
  if (!(has0)) {
    q0_0 = mat2x4<f32>();
  }
  var sum0_0 = mat2x4<f32>();
  var q1_0 = rounded(turned(raw1_0, raw_partner1_0, turn0, safe_octet0)) * params.scale;
  if (!(has0)) {
    q1_0 = mat2x4<f32>();
  }
  var sum1_0 = mat2x4<f32>();
  var q2_0 = rounded(turned(raw2_0, raw_partner2_0, turn0, safe_octet0)) * params.scale;
  if (!(has0)) {
    q2_0 = mat2x4<f32>();
  }
  var sum2_0 = mat2x4<f32>();
  var q3_0 = rounded(turned(raw3_0, raw_partner3_0, turn0, safe_octet0)) * params.scale;
  if (!(has0)) {
    q3_0 = mat2x4<f32>();
  }
  var sum3_0 = mat2x4<f32>();

  // A group of lanes spreads the scores of 1 heads and 4 keys over its lanes: each holds the softmax of one head and key. Lanes that
  // differ in their lowest bits hold other keys of a head.
  let pair_key = reverseBits(group_lane & 3u) >> 30u;
  let pair_head = 0u;
  let first_lane = subgroup_lane - group_lane;
  var top_0 = kUnset;
  var share_0 = 0.0;
  var top_1 = kUnset;
  var share_1 = 0.0;
  var top_2 = kUnset;
  var share_2 = 0.0;
  var top_3 = kUnset;
  var share_3 = 0.0;
  // Blocks that hold keys of the cache; the last one is the diagonal's unless the new token starts it.
  let last = select(i32(min(block_row, (end - 1u) / 32u)), -1, end == 0u);
  let start = split * 128u / 32u;
  let own_block = key_start / 32u;
  // Every subgroup reads the lists for itself. Bits: heads that list a block of the chunk, from 16 on heads that list the diagonal.
  var seen0 = 0u;
  var seen1 = 0u;
  var seen2 = 0u;
  var seen3 = 0u;
  {
    let inside = begin0 + i32(subgroup_lane) < stop0;
    seen0 |= select(0u, 1u, inside && early_column0 <= last && early_column0 == i32(start));
    seen1 |= select(0u, 1u, inside && early_column0 <= last && early_column0 == i32(start + 1u));
    seen2 |= select(0u, 1u, inside && early_column0 <= last && early_column0 == i32(start + 2u));
    seen3 |= select(0u, 1u, inside && early_column0 <= last && early_column0 == i32(start + 3u));
    seen0 |= select(0u, 65536u, inside && early_column0 == i32(block_row));
}
  for (var i = begin0 + i32(subgroup_lane + subgroup_size); i < stop0; i += i32(subgroup_size)) {
    let inside = true;
    let column = block_columns[mask_row0 * 11u + u32(i)];
    seen0 |= select(0u, 1u, inside && column <= last && column == i32(start));
    seen1 |= select(0u, 1u, inside && column <= last && column == i32(start + 1u));
    seen2 |= select(0u, 1u, inside && column <= last && column == i32(start + 2u));
    seen3 |= select(0u, 1u, inside && column <= last && column == i32(start + 3u));
    seen0 |= select(0u, 65536u, inside && column == i32(block_row));
}
  {
    let inside = begin1 + i32(subgroup_lane) < stop1;
    seen0 |= select(0u, 2u, inside && early_column1 <= last && early_column1 == i32(start));
    seen1 |= select(0u, 2u, inside && early_column1 <= last && early_column1 == i32(start + 1u));
    seen2 |= select(0u, 2u, inside && early_column1 <= last && early_column1 == i32(start + 2u));
    seen3 |= select(0u, 2u, inside && early_column1 <= last && early_column1 == i32(start + 3u));
    seen0 |= select(0u, 131072u, inside && early_column1 == i32(block_row));
}
  for (var i = begin1 + i32(subgroup_lane + subgroup_size); i < stop1; i += i32(subgroup_size)) {
    let inside = true;
    let column = block_columns[mask_row1 * 11u + u32(i)];
    seen0 |= select(0u, 2u, inside && column <= last && column == i32(start));
    seen1 |= select(0u, 2u, inside && column <= last && column == i32(start + 1u));
    seen2 |= select(0u, 2u, inside && column <= last && column == i32(start + 2u));
    seen3 |= select(0u, 2u, inside && column <= last && column == i32(start + 3u));
    seen0 |= select(0u, 131072u, inside && column == i32(block_row));
}
  {
    let inside = begin2 + i32(subgroup_lane) < stop2;
    seen0 |= select(0u, 4u, inside && early_column2 <= last && early_column2 == i32(start));
    seen1 |= select(0u, 4u, inside && early_column2 <= last && early_column2 == i32(start + 1u));
    seen2 |= select(0u, 4u, inside && early_column2 <= last && early_column2 == i32(start + 2u));
    seen3 |= select(0u, 4u, inside && early_column2 <= last && early_column2 == i32(start + 3u));
    seen0 |= select(0u, 262144u, inside && early_column2 == i32(block_row));
}
  for (var i = begin2 + i32(subgroup_lane + subgroup_size); i < stop2; i += i32(subgroup_size)) {
    let inside = true;
    let column = block_columns[mask_row2 * 11u + u32(i)];
    seen0 |= select(0u, 4u, inside && column <= last && column == i32(start));
    seen1 |= select(0u, 4u, inside && column <= last && column == i32(start + 1u));
    seen2 |= select(0u, 4u, inside && column <= last && column == i32(start + 2u));
    seen3 |= select(0u, 4u, inside && column <= last && column == i32(start + 3u));
    seen0 |= select(0u, 262144u, inside && column == i32(block_row));
}
  {
    let inside = begin3 + i32(subgroup_lane) < stop3;
    seen0 |= select(0u, 8u, inside && early_column3 <= last && early_column3 == i32(start));
    seen1 |= select(0u, 8u, inside && early_column3 <= last && early_column3 == i32(start + 1u));
    seen2 |= select(0u, 8u, inside && early_column3 <= last && early_column3 == i32(start + 2u));
    seen3 |= select(0u, 8u, inside && early_column3 <= last && early_column3 == i32(start + 3u));
    seen0 |= select(0u, 524288u, inside && early_column3 == i32(block_row));
}
  for (var i = begin3 + i32(subgroup_lane + subgroup_size); i < stop3; i += i32(subgroup_size)) {
    let inside = true;
    let column = block_columns[mask_row3 * 11u + u32(i)];
    seen0 |= select(0u, 8u, inside && column <= last && column == i32(start));
    seen1 |= select(0u, 8u, inside && column <= last && column == i32(start + 1u));
    seen2 |= select(0u, 8u, inside && column <= last && column == i32(start + 2u));
    seen3 |= select(0u, 8u, inside && column <= last && column == i32(start + 3u));
    seen0 |= select(0u, 524288u, inside && column == i32(block_row));
}
  seen0 = subgroupOr(seen0);
  seen1 = subgroupOr(seen1);
  seen2 = subgroupOr(seen2);
  seen3 = subgroupOr(seen3);
  let entry = own_block | select(0u, (seen0 & 0xffu) << 24u, own_block - start == 0u) | select(0u, (seen1 & 0xffu) << 24u, own_block - start == 1u) | select(0u, (seen2 & 0xffu) << 24u, own_block - start == 2u) | select(0u, (seen3 & 0xffu) << 24u, own_block - start == 3u);
  if (takes_new) {
    let row = cache_head + position * 3u;
    let appends = group == 0u && head_group % 1u == 0u && position < 160u;
    var new_score0 = 0.0;
    var new_score1 = 0.0;
    var new_score2 = 0.0;
    var new_score3 = 0.0;
    {
      var new_octet = octet_of(new_key0_w0, new_key0_w1);
      if (octet0 < 2u) {
        let turned_key = turned(new_octet, octet_of(new_partner0_w0, new_partner0_w1), turn0, octet0);
        new_octet = rounded(turned_key);
        new_key0_w0 = bitcast<vec4<u32>>(turned_key[0]);
        new_key0_w1 = bitcast<vec4<u32>>(turned_key[1]);
      }

      if (appends && has0) {
        past_key[2u * (row + octet0) + 0u] = new_key0_w0;
        past_value[2u * (row + octet0) + 0u] = new_value0_w0;
        past_key[2u * (row + octet0) + 1u] = new_key0_w1;
        past_value[2u * (row + octet0) + 1u] = new_value0_w1;
      }
      new_score0 += dot(q0_0[0], new_octet[0]) + dot(q0_0[1], new_octet[1]);
      new_score1 += dot(q1_0[0], new_octet[0]) + dot(q1_0[1], new_octet[1]);
      new_score2 += dot(q2_0[0], new_octet[0]) + dot(q2_0[1], new_octet[1]);
      new_score3 += dot(q3_0[0], new_octet[0]) + dot(q3_0[1], new_octet[1]);
    }
    new_score0 += subgroupShuffleXor(new_score0, 1u);
    new_score0 += subgroupShuffleXor(new_score0, 2u);
    new_score1 += subgroupShuffleXor(new_score1, 1u);
    new_score1 += subgroupShuffleXor(new_score1, 2u);
    new_score2 += subgroupShuffleXor(new_score2, 1u);
    new_score2 += subgroupShuffleXor(new_score2, 2u);
    new_score3 += subgroupShuffleXor(new_score3, 1u);
    new_score3 += subgroupShuffleXor(new_score3, 2u);
    let takers = select(0u, seen0 >> 16u, group == 0u && position < span.y);
    let takes_0 = ((takers >> (pair_head + 0u)) & 1u) != 0u;
    top_0 = select(kUnset, new_score0, takes_0);
    share_0 = select(0.0, 1.0, takes_0 && pair_key == 0u);
    let takes_1 = ((takers >> (pair_head + 1u)) & 1u) != 0u;
    top_1 = select(kUnset, new_score1, takes_1);
    share_1 = select(0.0, 1.0, takes_1 && pair_key == 0u);
    let takes_2 = ((takers >> (pair_head + 2u)) & 1u) != 0u;
    top_2 = select(kUnset, new_score2, takes_2);
    share_2 = select(0.0, 1.0, takes_2 && pair_key == 0u);
    let takes_3 = ((takers >> (pair_head + 3u)) & 1u) != 0u;
    top_3 = select(kUnset, new_score3, takes_3);
    share_3 = select(0.0, 1.0, takes_3 && pair_key == 0u);
    if ((takers & 1u) != 0u) {
      sum0_0 = octet_of(new_value0_w0, new_value0_w1);
    }
    if ((takers & 2u) != 0u) {
      sum1_0 = octet_of(new_value0_w0, new_value0_w1);
    }
    if ((takers & 4u) != 0u) {
      sum2_0 = octet_of(new_value0_w0, new_value0_w1);
    }
    if ((takers & 8u) != 0u) {
      sum3_0 = octet_of(new_value0_w0, new_value0_w1);
    }
  }
  let value0_0_w0 = select(vec4<u32>(), early_value0_0_w0, key_start + 0u < end);
  let value0_0_w1 = select(vec4<u32>(), early_value0_0_w1, key_start + 0u < end);
  let value1_0_w0 = select(vec4<u32>(), early_value1_0_w0, key_start + 1u < end);
  let value1_0_w1 = select(vec4<u32>(), early_value1_0_w1, key_start + 1u < end);
  let value2_0_w0 = select(vec4<u32>(), early_value2_0_w0, key_start + 2u < end);
  let value2_0_w1 = select(vec4<u32>(), early_value2_0_w1, key_start + 2u < end);
  let value3_0_w0 = select(vec4<u32>(), early_value3_0_w0, key_start + 3u < end);
  let value3_0_w1 = select(vec4<u32>(), early_value3_0_w1, key_start + 3u < end);
      var score0_0 = 0.0;
      var score0_1 = 0.0;
      var score0_2 = 0.0;
      var score0_3 = 0.0;
      var score1_0 = 0.0;
      var score1_1 = 0.0;
      var score1_2 = 0.0;
      var score1_3 = 0.0;
      var score2_0 = 0.0;
      var score2_1 = 0.0;
      var score2_2 = 0.0;
      var score2_3 = 0.0;
      var score3_0 = 0.0;
      var score3_1 = 0.0;
      var score3_2 = 0.0;
      var score3_3 = 0.0;
      {
        let key = octet_of(key0_0_w0, key0_0_w1);
        score0_0 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score1_0 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        score2_0 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        score3_0 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
      }
      {
        let key = octet_of(key1_0_w0, key1_0_w1);
        score0_1 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score1_1 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        score2_1 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        score3_1 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
      }
      {
        let key = octet_of(key2_0_w0, key2_0_w1);
        score0_2 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score1_2 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        score2_2 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        score3_2 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
      }
      {
        let key = octet_of(key3_0_w0, key3_0_w1);
        score0_3 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        score1_3 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        score2_3 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        score3_3 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
      }
      {
        let upper = (group_lane & 1u) != 0u;
        score0_0 = select(score0_0, score0_2, upper) + subgroupShuffleXor(select(score0_2, score0_0, upper), 1u);
        score0_1 = select(score0_1, score0_3, upper) + subgroupShuffleXor(select(score0_3, score0_1, upper), 1u);
        score1_0 = select(score1_0, score1_2, upper) + subgroupShuffleXor(select(score1_2, score1_0, upper), 1u);
        score1_1 = select(score1_1, score1_3, upper) + subgroupShuffleXor(select(score1_3, score1_1, upper), 1u);
        score2_0 = select(score2_0, score2_2, upper) + subgroupShuffleXor(select(score2_2, score2_0, upper), 1u);
        score2_1 = select(score2_1, score2_3, upper) + subgroupShuffleXor(select(score2_3, score2_1, upper), 1u);
        score3_0 = select(score3_0, score3_2, upper) + subgroupShuffleXor(select(score3_2, score3_0, upper), 1u);
        score3_1 = select(score3_1, score3_3, upper) + subgroupShuffleXor(select(score3_3, score3_1, upper), 1u);
      }
      {
        let upper = (group_lane & 2u) != 0u;
        score0_0 = select(score0_0, score0_1, upper) + subgroupShuffleXor(select(score0_1, score0_0, upper), 2u);
        score1_0 = select(score1_0, score1_1, upper) + subgroupShuffleXor(select(score1_1, score1_0, upper), 2u);
        score2_0 = select(score2_0, score2_1, upper) + subgroupShuffleXor(select(score2_1, score2_0, upper), 2u);
        score3_0 = select(score3_0, score3_1, upper) + subgroupShuffleXor(select(score3_1, score3_0, upper), 2u);
      }
      let live_0 = key_start + pair_key < end && ((entry >> (pair_head + 24u)) & 1u) != 0u;
      let masked_0 = select(kMasked, score0_0, live_0);
      var high_0 = masked_0;
      high_0 = max(high_0, subgroupShuffleXor(high_0, 1u));
      high_0 = max(high_0, subgroupShuffleXor(high_0, 2u));
      high_0 = max(high_0, top_0);
      let fade_0 = exp2(top_0 - high_0);
      let weight_0 = exp2(masked_0 - high_0);
      top_0 = high_0;
      share_0 = share_0 * fade_0 + weight_0;
      let live_1 = key_start + pair_key < end && ((entry >> (pair_head + 25u)) & 1u) != 0u;
      let masked_1 = select(kMasked, score1_0, live_1);
      var high_1 = masked_1;
      high_1 = max(high_1, subgroupShuffleXor(high_1, 1u));
      high_1 = max(high_1, subgroupShuffleXor(high_1, 2u));
      high_1 = max(high_1, top_1);
      let fade_1 = exp2(top_1 - high_1);
      let weight_1 = exp2(masked_1 - high_1);
      top_1 = high_1;
      share_1 = share_1 * fade_1 + weight_1;
      let live_2 = key_start + pair_key < end && ((entry >> (pair_head + 26u)) & 1u) != 0u;
      let masked_2 = select(kMasked, score2_0, live_2);
      var high_2 = masked_2;
      high_2 = max(high_2, subgroupShuffleXor(high_2, 1u));
      high_2 = max(high_2, subgroupShuffleXor(high_2, 2u));
      high_2 = max(high_2, top_2);
      let fade_2 = exp2(top_2 - high_2);
      let weight_2 = exp2(masked_2 - high_2);
      top_2 = high_2;
      share_2 = share_2 * fade_2 + weight_2;
      let live_3 = key_start + pair_key < end && ((entry >> (pair_head + 27u)) & 1u) != 0u;
      let masked_3 = select(kMasked, score3_0, live_3);
      var high_3 = masked_3;
      high_3 = max(high_3, subgroupShuffleXor(high_3, 1u));
      high_3 = max(high_3, subgroupShuffleXor(high_3, 2u));
      high_3 = max(high_3, top_3);
      let fade_3 = exp2(top_3 - high_3);
      let weight_3 = exp2(masked_3 - high_3);
      top_3 = high_3;
      share_3 = share_3 * fade_3 + weight_3;
      {
        let fade = subgroupShuffle(fade_0, first_lane + 0u + 4u * 0u);
        let weight0 = subgroupShuffle(weight_0, first_lane + 0u + 4u * 0u);
        let weight1 = subgroupShuffle(weight_0, first_lane + 2u + 4u * 0u);
        let weight2 = subgroupShuffle(weight_0, first_lane + 1u + 4u * 0u);
        let weight3 = subgroupShuffle(weight_0, first_lane + 3u + 4u * 0u);
        if ((entry & 16777216u) != 0u) {
          sum0_0 = sum0_0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
        }
      }
      {
        let fade = subgroupShuffle(fade_1, first_lane + 0u + 4u * 0u);
        let weight0 = subgroupShuffle(weight_1, first_lane + 0u + 4u * 0u);
        let weight1 = subgroupShuffle(weight_1, first_lane + 2u + 4u * 0u);
        let weight2 = subgroupShuffle(weight_1, first_lane + 1u + 4u * 0u);
        let weight3 = subgroupShuffle(weight_1, first_lane + 3u + 4u * 0u);
        if ((entry & 33554432u) != 0u) {
          sum1_0 = sum1_0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
        }
      }
      {
        let fade = subgroupShuffle(fade_2, first_lane + 0u + 4u * 0u);
        let weight0 = subgroupShuffle(weight_2, first_lane + 0u + 4u * 0u);
        let weight1 = subgroupShuffle(weight_2, first_lane + 2u + 4u * 0u);
        let weight2 = subgroupShuffle(weight_2, first_lane + 1u + 4u * 0u);
        let weight3 = subgroupShuffle(weight_2, first_lane + 3u + 4u * 0u);
        if ((entry & 67108864u) != 0u) {
          sum2_0 = sum2_0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
        }
      }
      {
        let fade = subgroupShuffle(fade_3, first_lane + 0u + 4u * 0u);
        let weight0 = subgroupShuffle(weight_3, first_lane + 0u + 4u * 0u);
        let weight1 = subgroupShuffle(weight_3, first_lane + 2u + 4u * 0u);
        let weight2 = subgroupShuffle(weight_3, first_lane + 1u + 4u * 0u);
        let weight3 = subgroupShuffle(weight_3, first_lane + 3u + 4u * 0u);
        if ((entry & 134217728u) != 0u) {
          sum3_0 = sum3_0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
        }
      }
  share_0 += subgroupShuffleXor(share_0, 1u);
  share_0 += subgroupShuffleXor(share_0, 2u);
  share_1 += subgroupShuffleXor(share_1, 1u);
  share_1 += subgroupShuffleXor(share_1, 2u);
  share_2 += subgroupShuffleXor(share_2, 1u);
  share_2 += subgroupShuffleXor(share_2, 2u);
  share_3 += subgroupShuffleXor(share_3, 1u);
  share_3 += subgroupShuffleXor(share_3, 2u);
  var max0 = subgroupShuffle(top_0, first_lane + 0u + 4u * 0u);
  var total0 = subgroupShuffle(share_0, first_lane + 0u + 4u * 0u);
  var max1 = subgroupShuffle(top_1, first_lane + 0u + 4u * 0u);
  var total1 = subgroupShuffle(share_1, first_lane + 0u + 4u * 0u);
  var max2 = subgroupShuffle(top_2, first_lane + 0u + 4u * 0u);
  var total2 = subgroupShuffle(share_2, first_lane + 0u + 4u * 0u);
  var max3 = subgroupShuffle(top_3, first_lane + 0u + 4u * 0u);
  var total3 = subgroupShuffle(share_3, first_lane + 0u + 4u * 0u);

  // Merge the groups: those of a subgroup by shuffles, then the subgroups through workgroup memory.
  let part = group / 1u;
  let speaks = true;
  if (speaks && group_lane == 0u) {
    part_stats[0u + part] = vec2<f32>(max0, total0);
    part_stats[32u + part] = vec2<f32>(max1, total1);
    part_stats[64u + part] = vec2<f32>(max2, total2);
    part_stats[96u + part] = vec2<f32>(max3, total3);
  }
  if (speaks) {
    merged[(0u + part) * 4u + octet0] = sum0_0;
    merged[(32u + part) * 4u + octet0] = sum1_0;
  }
  workgroupBarrier();
  for (var i = lane; i < 12u; i += 128u) {
    let h = i / 6u;
    let piece = i % 6u;
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_stats[(0u + h) * 32u + p].x);
    }
    var total = 0.0;
    var sum = vec4<f32>();
    for (var p = 0u; p < 32u; p++) {
      let stats = part_stats[(0u + h) * 32u + p];
      let factor = exp2(stats.x - top);
      total += stats.y * factor;
      sum += merged[(h * 32u + p) * 4u + piece / 2u][piece % 2u] * factor;
    }
    let head = item * 4u + first_head + 0u + h;
    let at = (head * 2u + split) * 7u;
    // The merge does not use the sums of a split without a live key.
    if (top > kUnset) {
      partials[at + piece] = sum;
    }
    if (piece == 0u) {
      partials[at + 6u] = vec4<f32>(top, total, bitcast<f32>(touched1), 0.0);
    }
  }
  workgroupBarrier();
  if (speaks) {
    merged[(0u + part) * 4u + octet0] = sum2_0;
    merged[(32u + part) * 4u + octet0] = sum3_0;
  }
  workgroupBarrier();
  for (var i = lane; i < 12u; i += 128u) {
    let h = i / 6u;
    let piece = i % 6u;
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_stats[(2u + h) * 32u + p].x);
    }
    var total = 0.0;
    var sum = vec4<f32>();
    for (var p = 0u; p < 32u; p++) {
      let stats = part_stats[(2u + h) * 32u + p];
      let factor = exp2(stats.x - top);
      total += stats.y * factor;
      sum += merged[(h * 32u + p) * 4u + piece / 2u][piece % 2u] * factor;
    }
    let head = item * 4u + first_head + 2u + h;
    let at = (head * 2u + split) * 7u;
    // The merge does not use the sums of a split without a live key.
    if (top > kUnset) {
      partials[at + piece] = sum;
    }
    if (piece == 0u) {
      partials[at + 6u] = vec4<f32>(top, total, bitcast<f32>(touched1), 0.0);
    }
  }
}
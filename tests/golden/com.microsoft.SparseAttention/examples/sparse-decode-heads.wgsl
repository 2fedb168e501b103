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
@group(0) @binding(9) var<storage, read_write> output: array<vec4<u32>>;
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

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
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

var<workgroup> part_stats: array<vec2<f32>, 16>;
var<workgroup> parts: array<mat2x4<f32>, 48>;

@compute @workgroup_size(512)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let own_row = workgroup.x + workgroup.y * 65535u;
  let row = own_row;
  let split = subgroup;
  let head = row % 4u;
  let kv_head = head / 4u;
  let item = row / 4u;
  let group = lane / 4u;
  let group_lane = lane % 4u;
  let first_lane = lane - group_lane;
  let pair = group_lane / 1u;
  let cache_head = (item * 1u + kv_head) * 160u * 3u;

  // What depends on no other load is asked for at once: the lengths, the query, the new token, the only keys.
  let all_length = total_length[0];
  let length = lengths[item];
  let octet0 = group_lane + 0u;
  let has0 = octet0 < 3u;
  let safe_octet0 = min(octet0, 2u);
  let raw0 = load_query((item * 6u + head) * 3u + safe_octet0);
  let partner0 = partner_of(safe_octet0);
  let raw_partner0 = load_query((item * 6u + head) * 3u + partner0);
  // The bounds of all of the head's lists, a lane each; where they are too many, what may hold them comes into the cache meanwhile.
  let mask_row = head % 2u;
  let bounds0 = block_rows[mask_row * 6u + min(lane, 5u)];
  let key_start = split * 32u + group * 4u;
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
  let takes_new = split == 15u;
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

  // What depends on the lengths: the bounds of the list, the rotary tables; then the list.
  let span = live_span(all_length, length);
  let position = span.x;
  let end = min(position, span.y);  // of the keys that are read from the cache
  let block_row = min(position / 32u, 4u);
  let raw_begin = subgroupShuffle(bounds0, (block_row) % 32u);
  let raw_stop = subgroupShuffle(bounds0, (block_row + 1u) % 32u);
  let turn0 = turn_at(position, safe_octet0);
  let begin = clamp(raw_begin, 0, 11);
  let stop = clamp(raw_stop, 0, 11);
  let list_at = mask_row * 11u;
  let column0 = block_columns[list_at + u32(max(min(begin + i32(lane) + 0, stop - 1), 0))];
  var q0 = rounded(turned(raw0, raw_partner0, turn0, safe_octet0)) * params.scale;
  if (!has0) {
    q0 = mat2x4<f32>();
  }
  var sum0 = mat2x4<f32>();
  var top = kUnset;
  var share = 0.0;
  // The last block that holds keys of the cache: the diagonal's unless the new token starts it.
  let last = select(i32(min(block_row, (end - 1u) / 32u)), -1, end == 0u);
  var met = 0u;  // 1: the diagonal block is listed, 2: this split's block

  let own_block = split * 32u / 32u;
  if (begin + i32(lane) + 0 < stop) {
    met |= select(0u, 1u, column0 == i32(block_row)) | select(0u, 2u, column0 == i32(own_block) && column0 <= last);
}
  for (var i = begin + i32(lane) + 32; i < stop; i += 32) {
    let column = block_columns[list_at + u32(i)];
    met |= select(0u, 1u, column == i32(block_row)) | select(0u, 2u, column == i32(own_block) && column <= last);
}
  met = subgroupOr(met);
  if (takes_new) {
    let new_row = cache_head + position * 3u;
    let appends = group == 0u && head % 4u == 0u && position < 160u;
    var score = 0.0;
    {
      var new_octet = octet_of(new_key0_w0, new_key0_w1);
      if (octet0 < 2u) {
        let turned_key = turned(new_octet, octet_of(new_partner0_w0, new_partner0_w1), turn0, octet0);
        new_octet = rounded(turned_key);
        new_key0_w0 = bitcast<vec4<u32>>(turned_key[0]);
        new_key0_w1 = bitcast<vec4<u32>>(turned_key[1]);
      }

      if (appends && has0) {
        past_key[2u * (new_row + octet0) + 0u] = new_key0_w0;
        past_value[2u * (new_row + octet0) + 0u] = new_value0_w0;
        past_key[2u * (new_row + octet0) + 1u] = new_key0_w1;
        past_value[2u * (new_row + octet0) + 1u] = new_value0_w1;
      }
      score += dot(q0[0], new_octet[0]) + dot(q0[1], new_octet[1]);
    }
    score += subgroupShuffleXor(score, 1u);
    score += subgroupShuffleXor(score, 2u);
    if (group == 0u && (met & 1u) != 0u && position < span.y) {
      top = score;
      share = select(0.0, 1.0, pair == 0u);
      sum0 = octet_of(new_value0_w0, new_value0_w1);
    }
  }
if ((met & 2u) != 0u) {
    // Rows beyond the end may hold anything.
    let value0_0_w0 = select(vec4<u32>(), early_value0_0_w0, key_start + 0u < end);
    let value0_0_w1 = select(vec4<u32>(), early_value0_0_w1, key_start + 0u < end);
    let value1_0_w0 = select(vec4<u32>(), early_value1_0_w0, key_start + 1u < end);
    let value1_0_w1 = select(vec4<u32>(), early_value1_0_w1, key_start + 1u < end);
    let value2_0_w0 = select(vec4<u32>(), early_value2_0_w0, key_start + 2u < end);
    let value2_0_w1 = select(vec4<u32>(), early_value2_0_w1, key_start + 2u < end);
    let value3_0_w0 = select(vec4<u32>(), early_value3_0_w0, key_start + 3u < end);
    let value3_0_w1 = select(vec4<u32>(), early_value3_0_w1, key_start + 3u < end);
    var score0 = 0.0;
    {
      let key = octet_of(key0_0_w0, key0_0_w1);
      score0 += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    var score1 = 0.0;
    {
      let key = octet_of(key1_0_w0, key1_0_w1);
      score1 += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    var score2 = 0.0;
    {
      let key = octet_of(key2_0_w0, key2_0_w1);
      score2 += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    var score3 = 0.0;
    {
      let key = octet_of(key3_0_w0, key3_0_w1);
      score3 += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    {
      let upper = (group_lane & 2u) != 0u;
      score0 = select(score0, score2, upper) + subgroupShuffleXor(select(score2, score0, upper), 2u);
      score1 = select(score1, score3, upper) + subgroupShuffleXor(select(score3, score1, upper), 2u);
    }
    {
      let upper = (group_lane & 1u) != 0u;
      score0 = select(score0, score1, upper) + subgroupShuffleXor(select(score1, score0, upper), 1u);
    }
    let masked = select(kMasked, score0, key_start + pair < end);
    var high = masked;
    high = max(high, subgroupShuffleXor(high, 1u));
    high = max(high, subgroupShuffleXor(high, 2u));
    high = max(high, top);
    let fade = exp2(top - high);
    let weight = exp2(masked - high);
    top = high;
    share = share * fade + weight;
    let weight0 = subgroupShuffle(weight, first_lane + 0u);
    let weight1 = subgroupShuffle(weight, first_lane + 1u);
    let weight2 = subgroupShuffle(weight, first_lane + 2u);
    let weight3 = subgroupShuffle(weight, first_lane + 3u);
    sum0 = sum0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
}

  share += subgroupShuffleXor(share, 1u);
  share += subgroupShuffleXor(share, 2u);
  // The groups of lanes become one.
  var high = top;
  high = max(high, subgroupShuffleXor(high, 4u));
  high = max(high, subgroupShuffleXor(high, 8u));
  high = max(high, subgroupShuffleXor(high, 16u));
  let fade = exp2(top - high);
  top = high;
  share *= fade;
  sum0 *= fade;
  share += subgroupShuffleXor(share, 4u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 4u), subgroupShuffleXor(sum0[1], 4u));
  share += subgroupShuffleXor(share, 8u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 8u), subgroupShuffleXor(sum0[1], 8u));
  share += subgroupShuffleXor(share, 16u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 16u), subgroupShuffleXor(sum0[1], 16u));
  if (group == 0u) {
    if (has0) {
      parts[subgroup * 3u + octet0] = sum0;
    }
    if (group_lane == 0u) {
      part_stats[subgroup] = vec2<f32>(top, share);
    }
  }
  workgroupBarrier();
  // A subgroup merges the splits of a lane's octet.
  for (var octet = subgroup * 32u + lane; octet < 3u; octet += 512u) {
    var all_top = kUnset;
    for (var p = 0u; p < 16u; p++) {
      all_top = max(all_top, part_stats[p].x);
    }
    var all = mat2x4<f32>();
    var all_share = 0.0;
    for (var p = 0u; p < 16u; p++) {
      let factor = exp2(part_stats[p].x - all_top);
      all_share += part_stats[p].y * factor;
      all += parts[p * 3u + octet] * factor;
    }
    store_output(row * 3u + octet, all * select(0.0, 1.0 / all_share, all_share > 0.0));
  }
}
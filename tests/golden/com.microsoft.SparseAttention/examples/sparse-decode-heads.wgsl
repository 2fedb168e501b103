enable subgroups;
diagnostic(off, subgroup_uniformity);







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
@group(0) @binding(9) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(10) var<uniform> params: Params;

const kUnset: f32 = -1.0e30;
const kMasked: f32 = -2.0e30;

fn live_span(total: i32, length: i32) -> vec2<u32> {
  let limit = 20800;
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

var<workgroup> live_bits: array<atomic<u32>, 256>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let worker = (workgroup.x + workgroup.y * 65535u) * 4u + subgroup;
  let split = worker / 2u % 256u;
  let kv_head = worker / 512u % 1u;
  let item = worker / 512u;
  let head = kv_head * 2u + worker % 2u;
  let group = lane / 1u;
  let group_lane = lane % 1u;
  let first_lane = lane - group_lane;
  let pair = group_lane / 1u;
  let cache_head = (item * 1u + kv_head) * 20800u * 1u;

  // What depends on no other load is asked for at once: the lengths, the query, the new token.
  let all_length = total_length[0];
  let length = lengths[item];
  let octet0 = group_lane + 0u;
  let safe_octet0 = octet0;
  let raw0 = load_query((item * 2u + head) * 1u + safe_octet0);
  // The lists' place is not known yet; what may hold them comes into the cache meanwhile.
  let mask_row = head % 1u;
  let takes_new = split == 255u;
  var new_key0_w0 = vec4<u32>();
  var new_value0_w0 = vec4<u32>();
  var new_key0_w1 = vec4<u32>();
  var new_value0_w1 = vec4<u32>();
  if (takes_new) {
    let key_at = (item * 1u + kv_head) * 1u;
    let value_at = key_at;
    new_key0_w0 = key[2u * (key_at + safe_octet0) + 0u];
    new_value0_w0 = value[2u * (value_at + safe_octet0) + 0u];
    new_key0_w1 = key[2u * (key_at + safe_octet0) + 1u];
    new_value0_w1 = value[2u * (value_at + safe_octet0) + 1u];
  }

  // What depends on the lengths: the bounds of the list, the rotary tables; then the list.
  let span = live_span(all_length, length);
  let position = span.x;
  let end = min(position, span.y);  // of the keys that are read from the cache
  let block_row = min(position / 16u, 1299u);
  let raw_begin = block_rows[mask_row * 1301u + block_row];
  let raw_stop = block_rows[mask_row * 1301u + block_row + 1u];
  let begin = clamp(raw_begin, 0, 8);
  let stop = clamp(raw_stop, 0, 8);
  let list_at = mask_row * 8u;
  let column0 = block_columns[list_at + u32(max(min(begin + i32(lane) + 0, stop - 1), 0))];
  var q0 = raw0 * params.scale;
  var sum0 = mat2x4<f32>();
  var top = kUnset;
  var share = 0.0;
  // The last block that holds keys of the cache: the diagonal's unless the new token starts it.
  let last = select(i32(min(block_row, (end - 1u) / 16u)), -1, end == 0u);
  var met = 0u;  // 1: the diagonal block is listed

  {
    let start = 0u;
  if (begin + i32(lane) + 0 < stop) {
    if (column0 >= i32(start) && column0 <= last && column0 < i32(start + 2048u)) {
      let bit = u32(column0) - start;
      atomicOr(&live_bits[subgroup * 64u + bit / 32u], 1u << (bit % 32u));
    }
    met |= select(0u, 1u, column0 == i32(block_row));
}
  for (var i = begin + i32(lane) + 32; i < stop; i += 32) {
    let column = block_columns[list_at + u32(i)];
    if (column >= i32(start) && column <= last && column < i32(start + 2048u)) {
      let bit = u32(column) - start;
      atomicOr(&live_bits[subgroup * 64u + bit / 32u], 1u << (bit % 32u));
    }
    met |= select(0u, 1u, column == i32(block_row));
}
workgroupBarrier();
    var count = 0u;
    let bits0 = atomicLoad(&live_bits[(subgroup * 32u + lane) * 2u + 0u]);
    count += countOneBits(bits0);
    let bits1 = atomicLoad(&live_bits[(subgroup * 32u + lane) * 2u + 1u]);
    count += countOneBits(bits1);
    let blocks = subgroupAdd(count);
    let after = blocks - subgroupInclusiveAdd(count);
    let chunks = blocks * 0u;
    var key_start = 0u;
    if (split < chunks) {
      // The block with this number of live blocks behind it.
      let behind = split / 0u;
      let owner = subgroupAdd(select(0u, 1u, after > behind));
      var skip = behind - subgroupShuffle(after, owner);
      var block = start + owner * 64u;
      var rest = 0u;
      {
        let word = subgroupShuffle(bits1, owner);
        let here = skip < countOneBits(word) && rest == 0u;
        rest = select(rest, word, here);
        block += select(0u, 32u, here);
        skip -= select(countOneBits(word), 0u, rest != 0u);
      }
      {
        let word = subgroupShuffle(bits0, owner);
        rest = select(rest, word, rest == 0u);
      }
      {
        let upper = countOneBits(rest >> 16u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 65535u, rest >> 16u, high);
        block += select(0u, 16u, high);
      }
      {
        let upper = countOneBits(rest >> 8u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 255u, rest >> 8u, high);
        block += select(0u, 8u, high);
      }
      {
        let upper = countOneBits(rest >> 4u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 15u, rest >> 4u, high);
        block += select(0u, 4u, high);
      }
      {
        let upper = countOneBits(rest >> 2u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 3u, rest >> 2u, high);
        block += select(0u, 2u, high);
      }
      {
        let upper = countOneBits(rest >> 1u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 1u, rest >> 1u, high);
        block += select(0u, 1u, high);
      }
      key_start = block * 16u + split % 0u * 32u + group * 1u;
}
    for (var chunk = split; chunk < chunks; ) {
    let at0 = cache_head + min(key_start + 0u, end - 1u) * 1u;
    let key0_0_w0 = past_key[2u * (at0 + octet0) + 0u];
    let key0_0_w1 = past_key[2u * (at0 + octet0) + 1u];
    let value0_0_w0 = past_value[2u * (at0 + octet0) + 0u];
    let value0_0_w1 = past_value[2u * (at0 + octet0) + 1u];
let valid = key_start + pair < end;
      chunk += 256u;
      if (chunk < chunks) {
      // The block with this number of live blocks behind it.
      let behind = chunk / 0u;
      let owner = subgroupAdd(select(0u, 1u, after > behind));
      var skip = behind - subgroupShuffle(after, owner);
      var block = start + owner * 64u;
      var rest = 0u;
      {
        let word = subgroupShuffle(bits1, owner);
        let here = skip < countOneBits(word) && rest == 0u;
        rest = select(rest, word, here);
        block += select(0u, 32u, here);
        skip -= select(countOneBits(word), 0u, rest != 0u);
      }
      {
        let word = subgroupShuffle(bits0, owner);
        rest = select(rest, word, rest == 0u);
      }
      {
        let upper = countOneBits(rest >> 16u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 65535u, rest >> 16u, high);
        block += select(0u, 16u, high);
      }
      {
        let upper = countOneBits(rest >> 8u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 255u, rest >> 8u, high);
        block += select(0u, 8u, high);
      }
      {
        let upper = countOneBits(rest >> 4u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 15u, rest >> 4u, high);
        block += select(0u, 4u, high);
      }
      {
        let upper = countOneBits(rest >> 2u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 3u, rest >> 2u, high);
        block += select(0u, 2u, high);
      }
      {
        let upper = countOneBits(rest >> 1u);
        let high = skip < upper;
        skip -= select(upper, 0u, high);
        rest = select(rest & 1u, rest >> 1u, high);
        block += select(0u, 1u, high);
      }
      key_start = block * 16u + chunk % 0u * 32u + group * 1u;
}
    var score0 = 0.0;
    {
      let key = octet_of(key0_0_w0, key0_0_w1);
      score0 += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    let masked = select(kMasked, score0, valid);
    var high = masked;
    high = max(high, top);
    let fade = exp2(top - high);
    let weight = exp2(masked - high);
    top = high;
    share = share * fade + weight;
    let weight0 = subgroupShuffle(weight, first_lane + 0u);
    sum0 = sum0 * fade + octet_of(value0_0_w0, value0_0_w1) * weight0;
}
  }
  met = subgroupOr(met);

  if (takes_new) {
    let row = cache_head + position * 1u;
    let appends = group == 0u && worker % 2u == 0u && position < 20800u;
    var score = 0.0;
    if (appends) {
      past_key[2u * (row + octet0) + 0u] = new_key0_w0;
      past_value[2u * (row + octet0) + 0u] = new_value0_w0;
      past_key[2u * (row + octet0) + 1u] = new_key0_w1;
      past_value[2u * (row + octet0) + 1u] = new_value0_w1;
    }
    {
      let key = octet_of(new_key0_w0, new_key0_w1);
      score += dot(q0[0], key[0]) + dot(q0[1], key[1]);
    }
    if (group == 0u && (met & 1u) != 0u && position < span.y) {
      let high = max(top, score);
      let fade = exp2(top - high);
      let weight = exp2(score - high);
      top = high;
      share = share * fade + weight;
      sum0 = sum0 * fade + octet_of(new_value0_w0, new_value0_w1) * weight;
    }
  }

  // The groups of lanes become one.
  var high = top;
  high = max(high, subgroupShuffleXor(high, 1u));
  high = max(high, subgroupShuffleXor(high, 2u));
  high = max(high, subgroupShuffleXor(high, 4u));
  high = max(high, subgroupShuffleXor(high, 8u));
  high = max(high, subgroupShuffleXor(high, 16u));
  let fade = exp2(top - high);
  top = high;
  share *= fade;
  sum0 *= fade;
  share += subgroupShuffleXor(share, 1u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 1u), subgroupShuffleXor(sum0[1], 1u));
  share += subgroupShuffleXor(share, 2u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 2u), subgroupShuffleXor(sum0[1], 2u));
  share += subgroupShuffleXor(share, 4u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 4u), subgroupShuffleXor(sum0[1], 4u));
  share += subgroupShuffleXor(share, 8u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 8u), subgroupShuffleXor(sum0[1], 8u));
  share += subgroupShuffleXor(share, 16u);
  sum0 += mat2x4<f32>(subgroupShuffleXor(sum0[0], 16u), subgroupShuffleXor(sum0[1], 16u));
  if (group == 0u) {
    let at = ((item * 2u + head) * 256u + split) * 3u;
    // The merge does not use the sums of a split without a live key.
    if (top > kUnset) {
      {
        partials[at + octet0 * 2u] = sum0[0];
        partials[at + octet0 * 2u + 1u] = sum0[1];
      }
    }
    if (group_lane == 0u) {
      partials[at + 2u] = vec4<f32>(top, share, 0.0, 0.0);
    }
  }
}
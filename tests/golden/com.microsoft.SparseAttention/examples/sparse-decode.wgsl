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

fn item_span(item: u32) -> vec2<u32> {
  let sequence = i32(params.sequence);
  let limit = i32(params.limit);
  if (total_length[0] == sequence) {
    return vec2<u32>(0u, u32(clamp(lengths[item], 0, min(sequence, limit))));
  }
  let live = max(clamp(lengths[item], 0, limit), min(sequence, limit));
  return vec2<u32>(u32(max(live - sequence, 0)), u32(live));
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
struct OctetPair { low: mat2x4<f32>, high: mat2x4<f32> };

fn rotated(x: mat2x4<f32>, y: mat2x4<f32>, position: u32, octet: u32) -> OctetPair {
  let c = mat2x4<f32>(cosine_four(position, octet * 8u), cosine_four(position, octet * 8u + 4u));
  let s = mat2x4<f32>(sine_four(position, octet * 8u), sine_four(position, octet * 8u + 4u));
  return OctetPair(
    mat2x4<f32>(x[0] * c[0] - y[0] * s[0], x[1] * c[1] - y[1] * s[1]),
    mat2x4<f32>(y[0] * c[0] + x[0] * s[0], y[1] * c[1] + x[1] * s[1]));
}

fn rotated_query(head: u32, position: u32, octet: u32) -> mat2x4<f32> {
  let x = load_query(head + octet);
  if (octet >= 2u) {
    return x;
  }
  if (octet < 1u) {
    return rotated(x, load_query(head + octet + 1u), position, octet).low;
  }
  return rotated(load_query(head + octet - 1u), x, position, octet - 1u).high;
}

fn rounded(x: mat2x4<f32>) -> mat2x4<f32> {
  return x;
}


var<workgroup> live_bits: array<atomic<u32>, 4>;
var<workgroup> live_list: array<u32, 38>;
var<workgroup> diagonal_heads: atomic<u32>;
var<workgroup> part_max: array<f32, 128>;
var<workgroup> part_sum: array<f32, 128>;
var<workgroup> merged: array<mat2x4<f32>, 256>;

fn union_bits(word: u32) -> u32 {
  return atomicLoad(&live_bits[0u + word]) | atomicLoad(&live_bits[1u + word]) | atomicLoad(&live_bits[2u + word]) | atomicLoad(&live_bits[3u + word]);
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_size) subgroup_size: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let index = workgroup.x + workgroup.y * 65535u;
  if (index >= params.tiles) {
    return;
  }
  let split = index % 1u;
  let head_group = index / 1u % 1u;
  let item = index / 1u;
  let kv_head = head_group / 1u;
  let first_head = kv_head * 4u + head_group % 1u * 4u;
  let span = item_span(item);
  let position = span.x;
  // Keys that are read from the cache.
  let end = min(position, span.y);
  let block_row = min(position / 32u, params.blocks - 1u);
  let cache_head = (item * 1u + kv_head) * params.capacity * 3u;
  let linear = subgroup * subgroup_size + subgroup_lane;
  let group = linear / 4u;
  let group_lane = linear % 4u;

  // What depends on nothing but the lengths is asked for at once: list bounds, the query, the new token.
  let mask_row0 = (first_head + 0u) % params.layouts;
  let begin0 = clamp(block_rows[mask_row0 * (params.blocks + 1u) + block_row], 0, i32(params.columns));
  let stop0 = clamp(block_rows[mask_row0 * (params.blocks + 1u) + block_row + 1u], 0, i32(params.columns));
  let mask_row1 = (first_head + 1u) % params.layouts;
  let begin1 = clamp(block_rows[mask_row1 * (params.blocks + 1u) + block_row], 0, i32(params.columns));
  let stop1 = clamp(block_rows[mask_row1 * (params.blocks + 1u) + block_row + 1u], 0, i32(params.columns));
  let mask_row2 = (first_head + 2u) % params.layouts;
  let begin2 = clamp(block_rows[mask_row2 * (params.blocks + 1u) + block_row], 0, i32(params.columns));
  let stop2 = clamp(block_rows[mask_row2 * (params.blocks + 1u) + block_row + 1u], 0, i32(params.columns));
  let mask_row3 = (first_head + 3u) % params.layouts;
  let begin3 = clamp(block_rows[mask_row3 * (params.blocks + 1u) + block_row], 0, i32(params.columns));
  let stop3 = clamp(block_rows[mask_row3 * (params.blocks + 1u) + block_row + 1u], 0, i32(params.columns));
  let octet0 = group_lane + 0u;
  let has0 = octet0 < 3u;
  var q0_0 = mat2x4<f32>();
  var sum0_0 = mat2x4<f32>();
  if (has0) {
    let head_at = (item * 6u + first_head + 0u) * 3u;
    q0_0 = rounded(rotated_query(head_at, position, octet0)) * params.scale;
  }
  var q1_0 = mat2x4<f32>();
  var sum1_0 = mat2x4<f32>();
  if (has0) {
    let head_at = (item * 6u + first_head + 1u) * 3u;
    q1_0 = rounded(rotated_query(head_at, position, octet0)) * params.scale;
  }
  var q2_0 = mat2x4<f32>();
  var sum2_0 = mat2x4<f32>();
  if (has0) {
    let head_at = (item * 6u + first_head + 2u) * 3u;
    q2_0 = rounded(rotated_query(head_at, position, octet0)) * params.scale;
  }
  var q3_0 = mat2x4<f32>();
  var sum3_0 = mat2x4<f32>();
  if (has0) {
    let head_at = (item * 6u + first_head + 3u) * 3u;
    q3_0 = rounded(rotated_query(head_at, position, octet0)) * params.scale;
  }
  var max0 = kUnset;
  var total0 = 0.0;
  var max1 = kUnset;
  var total1 = 0.0;
  var max2 = kUnset;
  var total2 = 0.0;
  var max3 = kUnset;
  var total3 = 0.0;


  // The new token: the first group of the last split attends to it; that of the first head group appends it.
  let takes_new = split == 0u && subgroup == 0u;
  var key0_0_w0 = vec4<u32>();
  var value0_0_w0 = vec4<u32>();
  var key0_0_w1 = vec4<u32>();
  var value0_0_w1 = vec4<u32>();
  if (takes_new && group == 0u) {
    let key_at = (item * 6u + 4u + kv_head) * 3u;
    let value_at = key_at + 3u;
    let row = cache_head + position * 3u;
    let appends = head_group % 1u == 0u && position < params.limit;
    if (has0) {
      key0_0_w0 = query[2u * (key_at + octet0) + 0u];
      value0_0_w0 = query[2u * (value_at + octet0) + 0u];
      key0_0_w1 = query[2u * (key_at + octet0) + 1u];
      value0_0_w1 = query[2u * (value_at + octet0) + 1u];
      if (octet0 < 2u) {
        let turned = rounded(rotated_query(key_at, position, octet0));
        key0_0_w0 = bitcast<vec4<u32>>(turned[0]);
        key0_0_w1 = bitcast<vec4<u32>>(turned[1]);
      }
      if (appends) {
        past_key[2u * (row + octet0) + 0u] = key0_0_w0;
        past_value[2u * (row + octet0) + 0u] = value0_0_w0;
        past_key[2u * (row + octet0) + 1u] = key0_0_w1;
        past_value[2u * (row + octet0) + 1u] = value0_0_w1;
      }
    }
  }
  if (lane == 0u) {
    atomicStore(&diagonal_heads, 0u);
  }

  // Blocks that hold keys of the cache; the last one is the diagonal's unless the new token starts it.
  let last = select(i32(min(block_row, (end - 1u) / 32u)), -1, end == 0u);
  let windows = u32(max(last, 0)) / 32u + 1u;
  for (var window = 0u; window < windows; window++) {
    // The union of the heads' live blocks, as bits per head: lists are sets, in any order.
    let start = window * 32u;
    for (var i = lane; i < 4u; i += 128u) {
      atomicStore(&live_bits[i], 0u);
    }
    var column0 = -1;
    if (begin0 + i32(lane) < stop0) {
      column0 = block_columns[mask_row0 * params.columns + u32(begin0) + lane];
    }
    var column1 = -1;
    if (begin1 + i32(lane) < stop1) {
      column1 = block_columns[mask_row1 * params.columns + u32(begin1) + lane];
    }
    var column2 = -1;
    if (begin2 + i32(lane) < stop2) {
      column2 = block_columns[mask_row2 * params.columns + u32(begin2) + lane];
    }
    var column3 = -1;
    if (begin3 + i32(lane) < stop3) {
      column3 = block_columns[mask_row3 * params.columns + u32(begin3) + lane];
    }
    workgroupBarrier();
    for (var i = begin0 + i32(lane); i < stop0; i += 128) {
      if (column0 >= i32(start) && column0 <= last && column0 < i32(start + 32u)) {
        let bit = u32(column0) - start;
        atomicOr(&live_bits[0u + bit / 32u], 1u << (bit % 32u));
      }
      if (column0 == i32(block_row)) {
        atomicOr(&diagonal_heads, 1u);
      }
      if (i + 128 < stop0) {
        column0 = block_columns[mask_row0 * params.columns + u32(i + 128)];
      }
    }
    for (var i = begin1 + i32(lane); i < stop1; i += 128) {
      if (column1 >= i32(start) && column1 <= last && column1 < i32(start + 32u)) {
        let bit = u32(column1) - start;
        atomicOr(&live_bits[1u + bit / 32u], 1u << (bit % 32u));
      }
      if (column1 == i32(block_row)) {
        atomicOr(&diagonal_heads, 2u);
      }
      if (i + 128 < stop1) {
        column1 = block_columns[mask_row1 * params.columns + u32(i + 128)];
      }
    }
    for (var i = begin2 + i32(lane); i < stop2; i += 128) {
      if (column2 >= i32(start) && column2 <= last && column2 < i32(start + 32u)) {
        let bit = u32(column2) - start;
        atomicOr(&live_bits[2u + bit / 32u], 1u << (bit % 32u));
      }
      if (column2 == i32(block_row)) {
        atomicOr(&diagonal_heads, 4u);
      }
      if (i + 128 < stop2) {
        column2 = block_columns[mask_row2 * params.columns + u32(i + 128)];
      }
    }
    for (var i = begin3 + i32(lane); i < stop3; i += 128) {
      if (column3 >= i32(start) && column3 <= last && column3 < i32(start + 32u)) {
        let bit = u32(column3) - start;
        atomicOr(&live_bits[3u + bit / 32u], 1u << (bit % 32u));
      }
      if (column3 == i32(block_row)) {
        atomicOr(&diagonal_heads, 8u);
      }
      if (i + 128 < stop3) {
        column3 = block_columns[mask_row3 * params.columns + u32(i + 128)];
      }
    }
    workgroupBarrier();
    // Every subgroup counts all words, so that nothing waits for one of them.
    var count = 0u;
    for (var word = subgroup_lane; word < 1u; word += subgroup_size) {
      count += countOneBits(union_bits(word));
    }
    let blocks = subgroupAdd(count);
    // This split's share, in chunks of 128 keys, and the blocks that it touches.
    let keys = blocks * 32u;
    let chunks = (keys + 127u) / 128u;
    let first_chunk = split * chunks / 1u;
    let last_chunk = (split + 1u) * chunks / 1u;
    let first_block = first_chunk * 128u / 32u;
    let last_block = min((last_chunk * 128u + 31u) / 32u, blocks);
    var seen = 0u;
    for (var first = 0u; first < 1u; first += subgroup_size) {
      let word = first + subgroup_lane;
      let bits = select(0u, union_bits(min(word, 0u)), word < 1u);
      let before = seen + subgroupExclusiveAdd(countOneBits(bits));
      seen += subgroupAdd(countOneBits(bits));
      // A lane per block of a word that this split touches; words go around the subgroups.
      for (var source = subgroup; source < min(subgroup_size, 1u - first); source += 128u / subgroup_size) {
        let word_bits = subgroupShuffle(bits, source);
        let word_before = subgroupShuffle(before, source);
        if (word_before < last_block && word_before + countOneBits(word_bits) > first_block) {
          for (var bit = subgroup_lane; bit < 32u; bit += subgroup_size) {
            let ordinal = word_before + countOneBits(word_bits & ((1u << bit) - 1u));
            if (((word_bits >> bit) & 1u) != 0u && ordinal >= first_block && ordinal < last_block) {
              live_list[ordinal - first_block] = (start + (first + source) * 32u + bit) | (((atomicLoad(&live_bits[0u + first + source]) >> bit) & 1u) << 24u) | (((atomicLoad(&live_bits[1u + first + source]) >> bit) & 1u) << 25u) | (((atomicLoad(&live_bits[2u + first + source]) >> bit) & 1u) << 26u) | (((atomicLoad(&live_bits[3u + first + source]) >> bit) & 1u) << 27u);
            }
          }
        }
      }
    }
    workgroupBarrier();
    if (window == 0u && takes_new) {
      let heads_with_new = select(0u, atomicLoad(&diagonal_heads), position < span.y && group == 0u);
      {
        let valid0 = (heads_with_new & 1u) != 0u;
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max0, score0);
        let factor = exp2(max0 - top);
        max0 = top;
        let weight0 = exp2(score0 - top);
        total0 = total0 * factor + weight0;
        sum0_0 = sum0_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0;
}
      {
        let valid0 = (heads_with_new & 2u) != 0u;
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max1, score0);
        let factor = exp2(max1 - top);
        max1 = top;
        let weight0 = exp2(score0 - top);
        total1 = total1 * factor + weight0;
        sum1_0 = sum1_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0;
}
      {
        let valid0 = (heads_with_new & 4u) != 0u;
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max2, score0);
        let factor = exp2(max2 - top);
        max2 = top;
        let weight0 = exp2(score0 - top);
        total2 = total2 * factor + weight0;
        sum2_0 = sum2_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0;
}
      {
        let valid0 = (heads_with_new & 8u) != 0u;
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max3, score0);
        let factor = exp2(max3 - top);
        max3 = top;
        let weight0 = exp2(score0 - top);
        total3 = total3 * factor + weight0;
        sum3_0 = sum3_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0;
}
    }
    for (var chunk = first_chunk; chunk < last_chunk; chunk++) {
      // A group takes neighbouring keys, all of one block.
      let listed = chunk * 128u + group * 4u;
      var entry = 0u;
      if (listed < keys) {
        entry = live_list[listed / 32u - first_block];
      }
      let key_start = (entry & 0xffffffu) * 32u + listed % 32u;
      let valid0 = key_start + 0u < end;
      let at0 = cache_head + min(key_start + 0u, end - 1u) * 3u;
      let valid1 = key_start + 1u < end;
      let at1 = cache_head + min(key_start + 1u, end - 1u) * 3u;
      let valid2 = key_start + 2u < end;
      let at2 = cache_head + min(key_start + 2u, end - 1u) * 3u;
      let valid3 = key_start + 3u < end;
      let at3 = cache_head + min(key_start + 3u, end - 1u) * 3u;
      var key0_0_w0 = vec4<u32>();
      if (has0) {
        key0_0_w0 = past_key[2u * (at0 + octet0) + 0u];
      }
      var key0_0_w1 = vec4<u32>();
      if (has0) {
        key0_0_w1 = past_key[2u * (at0 + octet0) + 1u];
      }
      var key1_0_w0 = vec4<u32>();
      if (has0) {
        key1_0_w0 = past_key[2u * (at1 + octet0) + 0u];
      }
      var key1_0_w1 = vec4<u32>();
      if (has0) {
        key1_0_w1 = past_key[2u * (at1 + octet0) + 1u];
      }
      var key2_0_w0 = vec4<u32>();
      if (has0) {
        key2_0_w0 = past_key[2u * (at2 + octet0) + 0u];
      }
      var key2_0_w1 = vec4<u32>();
      if (has0) {
        key2_0_w1 = past_key[2u * (at2 + octet0) + 1u];
      }
      var key3_0_w0 = vec4<u32>();
      if (has0) {
        key3_0_w0 = past_key[2u * (at3 + octet0) + 0u];
      }
      var key3_0_w1 = vec4<u32>();
      if (has0) {
        key3_0_w1 = past_key[2u * (at3 + octet0) + 1u];
      }
      var value0_0_w0 = vec4<u32>();
      if (has0) {
        value0_0_w0 = past_value[2u * (at0 + octet0) + 0u];
      }
      var value0_0_w1 = vec4<u32>();
      if (has0) {
        value0_0_w1 = past_value[2u * (at0 + octet0) + 1u];
      }
      var value1_0_w0 = vec4<u32>();
      if (has0) {
        value1_0_w0 = past_value[2u * (at1 + octet0) + 0u];
      }
      var value1_0_w1 = vec4<u32>();
      if (has0) {
        value1_0_w1 = past_value[2u * (at1 + octet0) + 1u];
      }
      var value2_0_w0 = vec4<u32>();
      if (has0) {
        value2_0_w0 = past_value[2u * (at2 + octet0) + 0u];
      }
      var value2_0_w1 = vec4<u32>();
      if (has0) {
        value2_0_w1 = past_value[2u * (at2 + octet0) + 1u];
      }
      var value3_0_w0 = vec4<u32>();
      if (has0) {
        value3_0_w0 = past_value[2u * (at3 + octet0) + 0u];
      }
      var value3_0_w1 = vec4<u32>();
      if (has0) {
        value3_0_w1 = past_value[2u * (at3 + octet0) + 1u];
      }
      if ((entry & 16777216u) != 0u) {
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        {
          let key = octet_of(key1_0_w0, key1_0_w1);
          score1 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        }
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        {
          let key = octet_of(key2_0_w0, key2_0_w1);
          score2 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        }
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        {
          let key = octet_of(key3_0_w0, key3_0_w1);
          score3 += dot(q0_0[0], key[0]) + dot(q0_0[1], key[1]);
        }
        score3 += subgroupShuffleXor(score3, 1u);
        score3 += subgroupShuffleXor(score3, 2u);
        score3 = select(kMasked, score3, valid3);
        let top = max(max0, max(score0, max(score1, max(score2, score3))));
        let factor = exp2(max0 - top);
        max0 = top;
        let weight0 = exp2(score0 - top);
        let weight1 = exp2(score1 - top);
        let weight2 = exp2(score2 - top);
        let weight3 = exp2(score3 - top);
        total0 = total0 * factor + weight0 + weight1 + weight2 + weight3;
        sum0_0 = sum0_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
}
      if ((entry & 33554432u) != 0u) {
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        {
          let key = octet_of(key1_0_w0, key1_0_w1);
          score1 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        }
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        {
          let key = octet_of(key2_0_w0, key2_0_w1);
          score2 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        }
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        {
          let key = octet_of(key3_0_w0, key3_0_w1);
          score3 += dot(q1_0[0], key[0]) + dot(q1_0[1], key[1]);
        }
        score3 += subgroupShuffleXor(score3, 1u);
        score3 += subgroupShuffleXor(score3, 2u);
        score3 = select(kMasked, score3, valid3);
        let top = max(max1, max(score0, max(score1, max(score2, score3))));
        let factor = exp2(max1 - top);
        max1 = top;
        let weight0 = exp2(score0 - top);
        let weight1 = exp2(score1 - top);
        let weight2 = exp2(score2 - top);
        let weight3 = exp2(score3 - top);
        total1 = total1 * factor + weight0 + weight1 + weight2 + weight3;
        sum1_0 = sum1_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
}
      if ((entry & 67108864u) != 0u) {
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        {
          let key = octet_of(key1_0_w0, key1_0_w1);
          score1 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        }
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        {
          let key = octet_of(key2_0_w0, key2_0_w1);
          score2 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        }
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        {
          let key = octet_of(key3_0_w0, key3_0_w1);
          score3 += dot(q2_0[0], key[0]) + dot(q2_0[1], key[1]);
        }
        score3 += subgroupShuffleXor(score3, 1u);
        score3 += subgroupShuffleXor(score3, 2u);
        score3 = select(kMasked, score3, valid3);
        let top = max(max2, max(score0, max(score1, max(score2, score3))));
        let factor = exp2(max2 - top);
        max2 = top;
        let weight0 = exp2(score0 - top);
        let weight1 = exp2(score1 - top);
        let weight2 = exp2(score2 - top);
        let weight3 = exp2(score3 - top);
        total2 = total2 * factor + weight0 + weight1 + weight2 + weight3;
        sum2_0 = sum2_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
}
      if ((entry & 134217728u) != 0u) {
        var score0 = 0.0;
        {
          let key = octet_of(key0_0_w0, key0_0_w1);
          score0 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
        }
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        {
          let key = octet_of(key1_0_w0, key1_0_w1);
          score1 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
        }
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        {
          let key = octet_of(key2_0_w0, key2_0_w1);
          score2 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
        }
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        {
          let key = octet_of(key3_0_w0, key3_0_w1);
          score3 += dot(q3_0[0], key[0]) + dot(q3_0[1], key[1]);
        }
        score3 += subgroupShuffleXor(score3, 1u);
        score3 += subgroupShuffleXor(score3, 2u);
        score3 = select(kMasked, score3, valid3);
        let top = max(max3, max(score0, max(score1, max(score2, score3))));
        let factor = exp2(max3 - top);
        max3 = top;
        let weight0 = exp2(score0 - top);
        let weight1 = exp2(score1 - top);
        let weight2 = exp2(score2 - top);
        let weight3 = exp2(score3 - top);
        total3 = total3 * factor + weight0 + weight1 + weight2 + weight3;
        sum3_0 = sum3_0 * factor + octet_of(value0_0_w0, value0_0_w1) * weight0 + octet_of(value1_0_w0, value1_0_w1) * weight1 + octet_of(value2_0_w0, value2_0_w1) * weight2 + octet_of(value3_0_w0, value3_0_w1) * weight3;
}
    }
    workgroupBarrier();
  }

  // Merge the groups: those of a subgroup by shuffles, then the subgroups through workgroup memory.
  let part = group / 1u;
  let speaks = true;
  if (speaks && group_lane == 0u) {
    part_max[0u + part] = max0;
    part_sum[0u + part] = total0;
    part_max[32u + part] = max1;
    part_sum[32u + part] = total1;
    part_max[64u + part] = max2;
    part_sum[64u + part] = total2;
    part_max[96u + part] = max3;
    part_sum[96u + part] = total3;
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[0u + p]);
    }
    let factor = exp2(max0 - top);
    if (speaks) {
      merged[(0u + part) * 4u + octet0] = sum0_0 * factor;
    }
  }
  {
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[32u + p]);
    }
    let factor = exp2(max1 - top);
    if (speaks) {
      merged[(32u + part) * 4u + octet0] = sum1_0 * factor;
    }
  }
  workgroupBarrier();
  for (var i = lane; i < 6u; i += 128u) {
    let h = i / 3u;
    let octet = i % 3u;
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[(0u + h) * 32u + p]);
    }
    var total = 0.0;
    var sum = mat2x4<f32>();
    for (var p = 0u; p < 32u; p++) {
      let at = (0u + h) * 32u + p;
      total += part_sum[at] * exp2(part_max[at] - top);
      sum += merged[(h * 32u + p) * 4u + octet];
    }
    let head = item * 4u + first_head + 0u + h;
    store_output(head * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[64u + p]);
    }
    let factor = exp2(max2 - top);
    if (speaks) {
      merged[(0u + part) * 4u + octet0] = sum2_0 * factor;
    }
  }
  {
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[96u + p]);
    }
    let factor = exp2(max3 - top);
    if (speaks) {
      merged[(32u + part) * 4u + octet0] = sum3_0 * factor;
    }
  }
  workgroupBarrier();
  for (var i = lane; i < 6u; i += 128u) {
    let h = i / 3u;
    let octet = i % 3u;
    var top = kUnset;
    for (var p = 0u; p < 32u; p++) {
      top = max(top, part_max[(2u + h) * 32u + p]);
    }
    var total = 0.0;
    var sum = mat2x4<f32>();
    for (var p = 0u; p < 32u; p++) {
      let at = (2u + h) * 32u + p;
      total += part_sum[at] * exp2(part_max[at] - top);
      sum += merged[(h * 32u + p) * 4u + octet];
    }
    let head = item * 4u + first_head + 2u + h;
    store_output(head * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
  }
}
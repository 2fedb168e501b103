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

fn load_past_key(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(past_key[2u * octet]), bitcast<vec4<f32>>(past_key[2u * octet + 1u]));
}

fn load_past_value(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(past_value[2u * octet]), bitcast<vec4<f32>>(past_value[2u * octet + 1u]));
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

fn store_past_key(octet: u32, value: mat2x4<f32>) {
  past_key[2u * octet] = bitcast<vec4<u32>>(value[0]);
  past_key[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}


var<workgroup> live_bits: array<atomic<u32>, 4>;
var<workgroup> word_counts: array<u32, 1>;
var<workgroup> live_list: array<u32, 42>;
var<workgroup> live_count: u32;
var<workgroup> group_max: array<f32, 256>;
var<workgroup> group_sum: array<f32, 256>;
var<workgroup> merged: array<mat2x4<f32>, 256>;

fn union_bits(word: u32) -> u32 {
  return atomicLoad(&live_bits[0u + word]) | atomicLoad(&live_bits[1u + word]) | atomicLoad(&live_bits[2u + word]) | atomicLoad(&live_bits[3u + word]);
}

@compute @workgroup_size(256)
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


  // The new token: the first group of the first split attends to it; the first split of the first head group appends it.
  if (split == 0u && subgroup == 0u) {
    let key_at = (item * 6u + 4u + kv_head) * 3u;
    let value_at = key_at + 3u;
    let row = cache_head + position * 3u;
    let appends = group == 0u && head_group % 1u == 0u && position < params.limit;
    var key0_0 = mat2x4<f32>();
    var value0_0 = mat2x4<f32>();
    if (group == 0u && has0) {
      key0_0 = rounded(rotated_query(key_at, position, octet0));
      value0_0 = load_query(value_at + octet0);
      if (appends) {
        if (octet0 < 2u) {
          store_past_key(row + octet0, key0_0);
        } else {
  past_key[2u * (row + octet0) + 0u] = query[2u * (key_at + octet0) + 0u];
  past_key[2u * (row + octet0) + 1u] = query[2u * (key_at + octet0) + 1u];
}
  past_value[2u * (row + octet0) + 0u] = query[2u * (value_at + octet0) + 0u];
  past_value[2u * (row + octet0) + 1u] = query[2u * (value_at + octet0) + 1u];
}
    }
    let diagonal = position / 32u;
    {
      // Whether head 0 lists the diagonal block.
      let mask_row = (first_head + 0u) % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      var listed = 0u;
      for (var i = begin + i32(group_lane); i < stop; i += 4) {
        listed |= u32(block_columns[mask_row * params.columns + u32(i)] == i32(diagonal));
      }
      listed |= subgroupShuffleXor(listed, 1u);
      listed |= subgroupShuffleXor(listed, 2u);
      let valid0 = listed != 0u && position < span.y && group == 0u;
        var score0 = 0.0;
        score0 += dot(q0_0[0], key0_0[0]) + dot(q0_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max0, score0);
        let factor = exp2(max0 - top);
        max0 = top;
        let weight0 = exp2(score0 - top);
        total0 = total0 * factor + weight0;
        sum0_0 = sum0_0 * factor + value0_0 * weight0;
}
    {
      // Whether head 1 lists the diagonal block.
      let mask_row = (first_head + 1u) % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      var listed = 0u;
      for (var i = begin + i32(group_lane); i < stop; i += 4) {
        listed |= u32(block_columns[mask_row * params.columns + u32(i)] == i32(diagonal));
      }
      listed |= subgroupShuffleXor(listed, 1u);
      listed |= subgroupShuffleXor(listed, 2u);
      let valid0 = listed != 0u && position < span.y && group == 0u;
        var score0 = 0.0;
        score0 += dot(q1_0[0], key0_0[0]) + dot(q1_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max1, score0);
        let factor = exp2(max1 - top);
        max1 = top;
        let weight0 = exp2(score0 - top);
        total1 = total1 * factor + weight0;
        sum1_0 = sum1_0 * factor + value0_0 * weight0;
}
    {
      // Whether head 2 lists the diagonal block.
      let mask_row = (first_head + 2u) % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      var listed = 0u;
      for (var i = begin + i32(group_lane); i < stop; i += 4) {
        listed |= u32(block_columns[mask_row * params.columns + u32(i)] == i32(diagonal));
      }
      listed |= subgroupShuffleXor(listed, 1u);
      listed |= subgroupShuffleXor(listed, 2u);
      let valid0 = listed != 0u && position < span.y && group == 0u;
        var score0 = 0.0;
        score0 += dot(q2_0[0], key0_0[0]) + dot(q2_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max2, score0);
        let factor = exp2(max2 - top);
        max2 = top;
        let weight0 = exp2(score0 - top);
        total2 = total2 * factor + weight0;
        sum2_0 = sum2_0 * factor + value0_0 * weight0;
}
    {
      // Whether head 3 lists the diagonal block.
      let mask_row = (first_head + 3u) % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      var listed = 0u;
      for (var i = begin + i32(group_lane); i < stop; i += 4) {
        listed |= u32(block_columns[mask_row * params.columns + u32(i)] == i32(diagonal));
      }
      listed |= subgroupShuffleXor(listed, 1u);
      listed |= subgroupShuffleXor(listed, 2u);
      let valid0 = listed != 0u && position < span.y && group == 0u;
        var score0 = 0.0;
        score0 += dot(q3_0[0], key0_0[0]) + dot(q3_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        let top = max(max3, score0);
        let factor = exp2(max3 - top);
        max3 = top;
        let weight0 = exp2(score0 - top);
        total3 = total3 * factor + weight0;
        sum3_0 = sum3_0 * factor + value0_0 * weight0;
}
  }

  let windows = select(min(block_row, (max(end, 1u) - 1u) / 32u) / 32u + 1u, 0u, end == 0u);
  for (var window = 0u; window < windows; window++) {
    // The union of the heads' live blocks, as bits per head: lists are sets, in any order.
    let start = window * 32u;
    for (var i = lane; i < 4u; i += 256u) {
      atomicStore(&live_bits[i], 0u);
    }
    workgroupBarrier();
    let last = i32(min(block_row, (end - 1u) / 32u));
    for (var h = 0u; h < 4u; h++) {
      let mask_row = (first_head + h) % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      for (var i = begin + i32(lane); i < stop; i += 256) {
        let column = block_columns[mask_row * params.columns + u32(i)];
        if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
          let bit = u32(column) - start;
          atomicOr(&live_bits[h * 1u + bit / 32u], 1u << (bit % 32u));
        }
      }
    }
    workgroupBarrier();
    // Blocks before each word.
    if (subgroup == 0u) {
      var seen = 0u;
      for (var first = 0u; first < 1u; first += subgroup_size) {
        let word = first + subgroup_lane;
        let count = select(0u, countOneBits(union_bits(min(word, 0u))), word < 1u);
        let before = subgroupExclusiveAdd(count);
        if (word < 1u) {
          word_counts[word] = seen + before;
        }
        seen += subgroupAdd(count);
      }
      if (subgroup_lane == 0u) {
        live_count = seen;
      }
    }
    let blocks = workgroupUniformLoad(&live_count);
    // This split's share, in chunks of 256 keys, and the blocks that it touches.
    let keys = blocks * 32u;
    let chunks = (keys + 255u) / 256u;
    let share = (chunks + 0u) / 1u;
    let first_chunk = min(split * share, chunks);
    let last_chunk = min(first_chunk + share, chunks);
    let first_block = first_chunk * 256u / 32u;
    let last_block = min((last_chunk * 256u + 31u) / 32u, blocks);
    for (var word = lane; word < 1u; word += 256u) {
      var ordinal = word_counts[word];
      var bits = union_bits(word);
      if (ordinal < last_block && ordinal + countOneBits(bits) > first_block) {
        while (bits != 0u) {
          let bit = firstTrailingBit(bits);
          bits &= bits - 1u;
          if (ordinal >= first_block && ordinal < last_block) {
            live_list[ordinal - first_block] = (start + word * 32u + bit) | (((atomicLoad(&live_bits[0u + word]) >> bit) & 1u) << 24u) | (((atomicLoad(&live_bits[1u + word]) >> bit) & 1u) << 25u) | (((atomicLoad(&live_bits[2u + word]) >> bit) & 1u) << 26u) | (((atomicLoad(&live_bits[3u + word]) >> bit) & 1u) << 27u);
          }
          ordinal++;
        }
      }
    }
    workgroupBarrier();

    for (var chunk = first_chunk; chunk < last_chunk; chunk++) {
      // A group takes neighbouring keys, all of one block.
      let listed = chunk * 256u + group * 4u;
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
      var key0_0 = mat2x4<f32>();
      if (has0) {
        key0_0 = load_past_key(at0 + octet0);
      }
      var key1_0 = mat2x4<f32>();
      if (has0) {
        key1_0 = load_past_key(at1 + octet0);
      }
      var key2_0 = mat2x4<f32>();
      if (has0) {
        key2_0 = load_past_key(at2 + octet0);
      }
      var key3_0 = mat2x4<f32>();
      if (has0) {
        key3_0 = load_past_key(at3 + octet0);
      }
      var value0_0 = mat2x4<f32>();
      if (has0) {
        value0_0 = load_past_value(at0 + octet0);
      }
      var value1_0 = mat2x4<f32>();
      if (has0) {
        value1_0 = load_past_value(at1 + octet0);
      }
      var value2_0 = mat2x4<f32>();
      if (has0) {
        value2_0 = load_past_value(at2 + octet0);
      }
      var value3_0 = mat2x4<f32>();
      if (has0) {
        value3_0 = load_past_value(at3 + octet0);
      }
      if ((entry & 16777216u) != 0u) {
        var score0 = 0.0;
        score0 += dot(q0_0[0], key0_0[0]) + dot(q0_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        score1 += dot(q0_0[0], key1_0[0]) + dot(q0_0[1], key1_0[1]);
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        score2 += dot(q0_0[0], key2_0[0]) + dot(q0_0[1], key2_0[1]);
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        score3 += dot(q0_0[0], key3_0[0]) + dot(q0_0[1], key3_0[1]);
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
        sum0_0 = sum0_0 * factor + value0_0 * weight0 + value1_0 * weight1 + value2_0 * weight2 + value3_0 * weight3;
}
      if ((entry & 33554432u) != 0u) {
        var score0 = 0.0;
        score0 += dot(q1_0[0], key0_0[0]) + dot(q1_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        score1 += dot(q1_0[0], key1_0[0]) + dot(q1_0[1], key1_0[1]);
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        score2 += dot(q1_0[0], key2_0[0]) + dot(q1_0[1], key2_0[1]);
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        score3 += dot(q1_0[0], key3_0[0]) + dot(q1_0[1], key3_0[1]);
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
        sum1_0 = sum1_0 * factor + value0_0 * weight0 + value1_0 * weight1 + value2_0 * weight2 + value3_0 * weight3;
}
      if ((entry & 67108864u) != 0u) {
        var score0 = 0.0;
        score0 += dot(q2_0[0], key0_0[0]) + dot(q2_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        score1 += dot(q2_0[0], key1_0[0]) + dot(q2_0[1], key1_0[1]);
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        score2 += dot(q2_0[0], key2_0[0]) + dot(q2_0[1], key2_0[1]);
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        score3 += dot(q2_0[0], key3_0[0]) + dot(q2_0[1], key3_0[1]);
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
        sum2_0 = sum2_0 * factor + value0_0 * weight0 + value1_0 * weight1 + value2_0 * weight2 + value3_0 * weight3;
}
      if ((entry & 134217728u) != 0u) {
        var score0 = 0.0;
        score0 += dot(q3_0[0], key0_0[0]) + dot(q3_0[1], key0_0[1]);
        score0 += subgroupShuffleXor(score0, 1u);
        score0 += subgroupShuffleXor(score0, 2u);
        score0 = select(kMasked, score0, valid0);
        var score1 = 0.0;
        score1 += dot(q3_0[0], key1_0[0]) + dot(q3_0[1], key1_0[1]);
        score1 += subgroupShuffleXor(score1, 1u);
        score1 += subgroupShuffleXor(score1, 2u);
        score1 = select(kMasked, score1, valid1);
        var score2 = 0.0;
        score2 += dot(q3_0[0], key2_0[0]) + dot(q3_0[1], key2_0[1]);
        score2 += subgroupShuffleXor(score2, 1u);
        score2 += subgroupShuffleXor(score2, 2u);
        score2 = select(kMasked, score2, valid2);
        var score3 = 0.0;
        score3 += dot(q3_0[0], key3_0[0]) + dot(q3_0[1], key3_0[1]);
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
        sum3_0 = sum3_0 * factor + value0_0 * weight0 + value1_0 * weight1 + value2_0 * weight2 + value3_0 * weight3;
}
    }
    workgroupBarrier();
  }

  // Merge the groups.
  if (group_lane == 0u) {
    group_max[0u + group] = max0;
    group_sum[0u + group] = total0;
    group_max[64u + group] = max1;
    group_sum[64u + group] = total1;
    group_max[128u + group] = max2;
    group_sum[128u + group] = total2;
    group_max[192u + group] = max3;
    group_sum[192u + group] = total3;
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var g = 0u; g < 64u; g++) {
      top = max(top, group_max[0u + g]);
    }
    let factor = exp2(max0 - top);
    merged[group * 4u + octet0] = sum0_0 * factor;
    workgroupBarrier();
    var total = 0.0;
    for (var g = 0u; g < 64u; g++) {
      total += group_sum[0u + g] * exp2(group_max[0u + g] - top);
    }
    let real = true;
    for (var octet = lane; octet < 3u && real; octet += 256u) {
      var sum = merged[octet];
      for (var g = 1u; g < 64u; g++) {
        sum += merged[g * 4u + octet];
      }
      store_output((item * 4u + first_head + 0u) * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var g = 0u; g < 64u; g++) {
      top = max(top, group_max[64u + g]);
    }
    let factor = exp2(max1 - top);
    merged[group * 4u + octet0] = sum1_0 * factor;
    workgroupBarrier();
    var total = 0.0;
    for (var g = 0u; g < 64u; g++) {
      total += group_sum[64u + g] * exp2(group_max[64u + g] - top);
    }
    let real = true;
    for (var octet = lane; octet < 3u && real; octet += 256u) {
      var sum = merged[octet];
      for (var g = 1u; g < 64u; g++) {
        sum += merged[g * 4u + octet];
      }
      store_output((item * 4u + first_head + 1u) * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var g = 0u; g < 64u; g++) {
      top = max(top, group_max[128u + g]);
    }
    let factor = exp2(max2 - top);
    merged[group * 4u + octet0] = sum2_0 * factor;
    workgroupBarrier();
    var total = 0.0;
    for (var g = 0u; g < 64u; g++) {
      total += group_sum[128u + g] * exp2(group_max[128u + g] - top);
    }
    let real = true;
    for (var octet = lane; octet < 3u && real; octet += 256u) {
      var sum = merged[octet];
      for (var g = 1u; g < 64u; g++) {
        sum += merged[g * 4u + octet];
      }
      store_output((item * 4u + first_head + 2u) * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
  }
  workgroupBarrier();
  {
    var top = kUnset;
    for (var g = 0u; g < 64u; g++) {
      top = max(top, group_max[192u + g]);
    }
    let factor = exp2(max3 - top);
    merged[group * 4u + octet0] = sum3_0 * factor;
    workgroupBarrier();
    var total = 0.0;
    for (var g = 0u; g < 64u; g++) {
      total += group_sum[192u + g] * exp2(group_max[192u + g] - top);
    }
    let real = true;
    for (var octet = lane; octet < 3u && real; octet += 256u) {
      var sum = merged[octet];
      for (var g = 1u; g < 64u; g++) {
        sum += merged[g * 4u + octet];
      }
      store_output((item * 4u + first_head + 3u) * 3u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
  }
}
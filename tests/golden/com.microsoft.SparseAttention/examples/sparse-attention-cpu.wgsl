enable subgroups;
diagnostic(off, subgroup_uniformity);







struct Params { tiles: u32, token_tiles: u32, sequence: u32, capacity: u32, limit: u32, layouts: u32, blocks: u32, columns: u32, scale: f32, masked: f32, tail_start: u32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> query: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> past_key: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> past_value: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> block_rows: array<i32>;
@group(0) @binding(4) var<storage, read> block_columns: array<i32>;
@group(0) @binding(5) var<storage, read> total_length: array<i32>;
@group(0) @binding(6) var<storage, read> lengths: array<i32>;
@group(0) @binding(7) var<storage, read_write> output: array<vec4<u32>>;
@group(0) @binding(8) var<uniform> params: Params;

const kUnset: f32 = -1.0e30;

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

fn load_query(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(query[2u * octet]), bitcast<vec4<f32>>(query[2u * octet + 1u]));
}

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}


// Lane-private: word * 8 + lane, and (key * 1 + four rows) * 8 + lane, or vector * 8 + lane.
var<workgroup> live_words: array<u32, 8>;
var<workgroup> weights: array<vec2<f32>, 128>;


@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let index = group.x + group.y * 65535u;
  if (index >= params.tiles) {
    return;
  }
  let head_group = index % 2u;
  let rest = index / 2u;
  let token_tile = params.token_tiles - 1u - rest % params.token_tiles;
  let item = rest / params.token_tiles;
  let kv_head = head_group / 1u;
  let head = kv_head * 1u + head_group % 1u * 1u;
  let span = item_span(item);
  let base = (span.x / 16u + token_tile) * 16u;
  let first = max(base, span.x);
  let last = min(base + 16u, span.x + params.sequence);
  if (first >= last) {
    return;
  }
  let end = min(last, span.y);
  let cache = (item * 2u + kv_head) * params.capacity * 2u;
  // A tile of rows lies in one row of blocks.
  let block_row = min(base / 16u, params.blocks - 1u);

  let position0 = base + lane;
  let exists0 = position0 >= first && position0 < last;
  // Rows that do not exist repeat one that does.
  let place0 = clamp(position0, first, last - 1u);
  let token0 = item * params.sequence + place0 - span.x;
  let query0 = (token0 * 2u + head) * 1u;
  let q0_0 = load_query(query0 + 0u) * params.scale;
  var o0_0 = vec4<f32>();
  var o0_1 = vec4<f32>();
  var row_max0 = kUnset;
  var row_sum0 = 0.0;
  let position1 = base + lane + 8u;
  let exists1 = position1 >= first && position1 < last;
  // Rows that do not exist repeat one that does.
  let place1 = clamp(position1, first, last - 1u);
  let token1 = item * params.sequence + place1 - span.x;
  let query1 = (token1 * 2u + head) * 1u;
  let q1_0 = load_query(query1 + 0u) * params.scale;
  var o1_0 = vec4<f32>();
  var o1_1 = vec4<f32>();
  var row_max1 = kUnset;
  var row_sum1 = 0.0;

  let windows = select((min(block_row, (max(end, 1u) - 1u) / 16u)) / 32u + 1u, 0u, first >= end);
  for (var window = 0u; window < windows; window++) {
    let start = i32(window * 32u);
    for (var word = 0u; word < 1u; word++) {
      live_words[word * 8u + lane] = 0u;
    }
    {
      let mask_row = head % params.layouts;
      let pointers = mask_row * (params.blocks + 1u) + block_row;
      let begin = clamp(block_rows[pointers], 0, i32(params.columns));
      let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
      let last_block = i32(min(block_row, (end - 1u) / 16u));
      for (var i = begin; i < stop; i++) {
        let column = block_columns[mask_row * params.columns + u32(i)];
        if (column >= start && column <= last_block && column < start + 32) {
          live_words[u32(column - start) / 32u * 8u + lane] |= 1u << (u32(column - start) % 32u);
        }
      }
    }
    for (var word = 0u; word < 1u; word++) {
      let mine = live_words[word * 8u + lane];
      var bits = subgroupOr(mine);
      while (bits != 0u) {
        let bit = firstTrailingBit(bits);
        bits &= bits - 1u;
        let block_start = (u32(start) + word * 32u + bit) * 16u;
        // Keys that a row may see: [block_start, seen).
        let reach = select(0u, end, ((mine >> bit) & 1u) != 0u);
        let seen0 = min(position0 + 1u, reach);
        let seen1 = min(position1 + 1u, reach);
        let block_end = min(block_start + 16u, end);
        for (var key_start = block_start; key_start < block_end; key_start += 16u) {
          let keys = min(key_start + 16u, block_end) - key_start;
          let tile_at = cache + key_start * 2u;
          var top0 = row_max0;
          var top1 = row_max1;
          for (var k = 0u; k < keys; k += 4u) {
            let past_key_place0 = lane;
            let past_key_word0 = past_key[tile_at + min(k + past_key_place0 / 2u, keys - 1u) * 2u + past_key_place0 % 2u + 0u];
            let past_key_part0_0 = bitcast<vec4<f32>>(past_key_word0);

            var s0_0 = vec4<f32>();
            var s1_0 = vec4<f32>();
            let k0_0 = subgroupBroadcast(past_key_part0_0, 0u);
            s0_0 += q0_0[0] * k0_0;
            s1_0 += q1_0[0] * k0_0;
            let k1_0 = subgroupBroadcast(past_key_part0_0, 1u);
            s0_0 += q0_0[1] * k1_0;
            s1_0 += q1_0[1] * k1_0;
            {
              let score0 = select(2.0 * kUnset, (s0_0.x + s0_0.y) + (s0_0.z + s0_0.w), key_start + k + 0u < seen0);
              top0 = max(top0, score0);
              let score1 = select(2.0 * kUnset, (s1_0.x + s1_0.y) + (s1_0.z + s1_0.w), key_start + k + 0u < seen1);
              top1 = max(top1, score1);
              weights[((k + 0u) * 1u + 0u) * 8u + lane] = vec2<f32>(score0, score1);
            }
            var s0_1 = vec4<f32>();
            var s1_1 = vec4<f32>();
            let k0_1 = subgroupBroadcast(past_key_part0_0, 2u);
            s0_1 += q0_0[0] * k0_1;
            s1_1 += q1_0[0] * k0_1;
            let k1_1 = subgroupBroadcast(past_key_part0_0, 3u);
            s0_1 += q0_0[1] * k1_1;
            s1_1 += q1_0[1] * k1_1;
            {
              let score0 = select(2.0 * kUnset, (s0_1.x + s0_1.y) + (s0_1.z + s0_1.w), key_start + k + 1u < seen0);
              top0 = max(top0, score0);
              let score1 = select(2.0 * kUnset, (s1_1.x + s1_1.y) + (s1_1.z + s1_1.w), key_start + k + 1u < seen1);
              top1 = max(top1, score1);
              weights[((k + 1u) * 1u + 0u) * 8u + lane] = vec2<f32>(score0, score1);
            }
            var s0_2 = vec4<f32>();
            var s1_2 = vec4<f32>();
            let k0_2 = subgroupBroadcast(past_key_part0_0, 4u);
            s0_2 += q0_0[0] * k0_2;
            s1_2 += q1_0[0] * k0_2;
            let k1_2 = subgroupBroadcast(past_key_part0_0, 5u);
            s0_2 += q0_0[1] * k1_2;
            s1_2 += q1_0[1] * k1_2;
            {
              let score0 = select(2.0 * kUnset, (s0_2.x + s0_2.y) + (s0_2.z + s0_2.w), key_start + k + 2u < seen0);
              top0 = max(top0, score0);
              let score1 = select(2.0 * kUnset, (s1_2.x + s1_2.y) + (s1_2.z + s1_2.w), key_start + k + 2u < seen1);
              top1 = max(top1, score1);
              weights[((k + 2u) * 1u + 0u) * 8u + lane] = vec2<f32>(score0, score1);
            }
            var s0_3 = vec4<f32>();
            var s1_3 = vec4<f32>();
            let k0_3 = subgroupBroadcast(past_key_part0_0, 6u);
            s0_3 += q0_0[0] * k0_3;
            s1_3 += q1_0[0] * k0_3;
            let k1_3 = subgroupBroadcast(past_key_part0_0, 7u);
            s0_3 += q0_0[1] * k1_3;
            s1_3 += q1_0[1] * k1_3;
            {
              let score0 = select(2.0 * kUnset, (s0_3.x + s0_3.y) + (s0_3.z + s0_3.w), key_start + k + 3u < seen0);
              top0 = max(top0, score0);
              let score1 = select(2.0 * kUnset, (s1_3.x + s1_3.y) + (s1_3.z + s1_3.w), key_start + k + 3u < seen1);
              top1 = max(top1, score1);
              weights[((k + 3u) * 1u + 0u) * 8u + lane] = vec2<f32>(score0, score1);
            }
          }
          let factor0 = exp2(row_max0 - top0);
          row_max0 = top0;
          row_sum0 *= factor0;
          let factor1 = exp2(row_max1 - top1);
          row_max1 = top1;
          row_sum1 *= factor1;
          // Up to a whole turn of the outputs' loop, where keys beyond the last weigh nothing.
          let padded = (keys + 3u) / 4u * 4u;
          for (var k = 0u; k < padded; k++) {
            {
              let slot = (k * 1u + 0u) * 8u + lane;
              let scores = weights[slot];
              let weight0 = select(0.0, exp2(scores.x - top0), k < keys);
              row_sum0 += weight0;
              let weight1 = select(0.0, exp2(scores.y - top1), k < keys);
              row_sum1 += weight1;
              weights[slot] = vec2<f32>(weight0, weight1);
            }
          }
          {
            var a0_0 = o0_0 * factor0;
            var a0_1 = o0_1 * factor0;
            var a1_0 = o1_0 * factor1;
            var a1_1 = o1_1 * factor1;
            for (var k = 0u; k < keys; k += 4u) {
            let past_value_place0 = lane;
            let past_value_word0 = past_value[tile_at + min(k + past_value_place0 / 2u, keys - 1u) * 2u + past_value_place0 % 2u + 0u];
            let past_value_part0_0 = bitcast<vec4<f32>>(past_value_word0);

              let w0_0 = weights[((k + 0u) * 1u + 0u) * 8u + lane];
              let v0_0 = subgroupBroadcast(past_value_part0_0, 0u);
              a0_0 += w0_0.x * v0_0;
              a1_0 += w0_0.y * v0_0;
              let v1_0 = subgroupBroadcast(past_value_part0_0, 1u);
              a0_1 += w0_0.x * v1_0;
              a1_1 += w0_0.y * v1_0;
              let w0_1 = weights[((k + 1u) * 1u + 0u) * 8u + lane];
              let v0_1 = subgroupBroadcast(past_value_part0_0, 2u);
              a0_0 += w0_1.x * v0_1;
              a1_0 += w0_1.y * v0_1;
              let v1_1 = subgroupBroadcast(past_value_part0_0, 3u);
              a0_1 += w0_1.x * v1_1;
              a1_1 += w0_1.y * v1_1;
              let w0_2 = weights[((k + 2u) * 1u + 0u) * 8u + lane];
              let v0_2 = subgroupBroadcast(past_value_part0_0, 4u);
              a0_0 += w0_2.x * v0_2;
              a1_0 += w0_2.y * v0_2;
              let v1_2 = subgroupBroadcast(past_value_part0_0, 5u);
              a0_1 += w0_2.x * v1_2;
              a1_1 += w0_2.y * v1_2;
              let w0_3 = weights[((k + 3u) * 1u + 0u) * 8u + lane];
              let v0_3 = subgroupBroadcast(past_value_part0_0, 6u);
              a0_0 += w0_3.x * v0_3;
              a1_0 += w0_3.y * v0_3;
              let v1_3 = subgroupBroadcast(past_value_part0_0, 7u);
              a0_1 += w0_3.x * v1_3;
              a1_1 += w0_3.y * v1_3;
            }
            o0_0 = a0_0;
            o0_1 = a0_1;
            o1_0 = a1_0;
            o1_1 = a1_1;
          }
        }
      }
    }
  }

  if (exists0) {
    let inverse = select(0.0, 1.0 / row_sum0, row_sum0 > 0.0);
    let at = (token0 * 2u + head) * 1u;
    store_output(at + 0u, mat2x4<f32>(o0_0, o0_1) * inverse);
  }
  if (exists1) {
    let inverse = select(0.0, 1.0 / row_sum1, row_sum1 > 0.0);
    let at = (token1 * 2u + head) * 1u;
    store_output(at + 0u, mat2x4<f32>(o1_0, o1_1) * inverse);
  }
}
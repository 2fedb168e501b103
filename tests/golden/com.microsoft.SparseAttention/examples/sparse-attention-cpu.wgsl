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


// Lane-private: word * 8 + lane, key * 8 + lane.
var<workgroup> live_words: array<u32, 8>;
var<workgroup> weights: array<f32, 128>;


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
  let head = kv_head * 1u + head_group % 1u * 1u + lane / 8u;
  let span = item_span(item);
  let base = (span.x / 8u + token_tile) * 8u;
  let first = max(base, span.x);
  let last = min(base + 8u, span.x + params.sequence);
  if (first >= last) {
    return;
  }
  let end = min(last, span.y);
  let position = base + lane % 8u;
  let exists = position >= first && position < last && lane < 8u;
  let token = item * params.sequence + position - span.x;
  let cache = (item * 2u + kv_head) * params.capacity * 2u;
  let block_row = min(base / 16u, params.blocks - 1u);

  var q0 = vec4<f32>();
  var q1 = vec4<f32>();
  if (exists) {
    let at = (token * 2u + head) * 1u;
    {
      let x = load_query(at + 0u) * params.scale;
      q0 = x[0];
      q1 = x[1];
    }
  }
  var o0 = vec4<f32>();
  var o1 = vec4<f32>();
  var row_max = kUnset;
  var row_sum = 0.0;

  let windows = select((min(block_row, (max(end, 1u) - 1u) / 16u)) / 32u + 1u, 0u, first >= end);
  for (var window = 0u; window < windows; window++) {
    let start = i32(window * 32u);
    for (var word = 0u; word < 1u; word++) {
      live_words[word * 8u + lane] = 0u;
    }
    if (exists) {
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
        // Keys that this row may see: [block_start, seen).
        let seen = select(0u, min(position + 1u, end), ((mine >> bit) & 1u) != 0u);
        let block_end = min(block_start + 16u, end);
        for (var key_start = block_start; key_start < block_end; key_start += 16u) {
          let keys = min(key_start + 16u, block_end) - key_start;
          var top = row_max;
          for (var k = 0u; k < keys; k += 4u) {
            let at0 = cache + min(key_start + k + 0u, block_end - 1u) * 2u;
            var s0 = vec4<f32>();
            let at1 = cache + min(key_start + k + 1u, block_end - 1u) * 2u;
            var s1 = vec4<f32>();
            let at2 = cache + min(key_start + k + 2u, block_end - 1u) * 2u;
            var s2 = vec4<f32>();
            let at3 = cache + min(key_start + k + 3u, block_end - 1u) * 2u;
            var s3 = vec4<f32>();
            s0 += q0 * bitcast<vec4<f32>>(past_key[at0 + 0u]);
            s1 += q0 * bitcast<vec4<f32>>(past_key[at1 + 0u]);
            s2 += q0 * bitcast<vec4<f32>>(past_key[at2 + 0u]);
            s3 += q0 * bitcast<vec4<f32>>(past_key[at3 + 0u]);
            s0 += q1 * bitcast<vec4<f32>>(past_key[at0 + 1u]);
            s1 += q1 * bitcast<vec4<f32>>(past_key[at1 + 1u]);
            s2 += q1 * bitcast<vec4<f32>>(past_key[at2 + 1u]);
            s3 += q1 * bitcast<vec4<f32>>(past_key[at3 + 1u]);
            {
              let sum = (s0.x + s0.y) + (s0.z + s0.w);
              let score = select(2.0 * kUnset, sum, key_start + k + 0u < seen);
              weights[(k + 0u) * 8u + lane] = score;
              top = max(top, score);
            }
            {
              let sum = (s1.x + s1.y) + (s1.z + s1.w);
              let score = select(2.0 * kUnset, sum, key_start + k + 1u < seen);
              weights[(k + 1u) * 8u + lane] = score;
              top = max(top, score);
            }
            {
              let sum = (s2.x + s2.y) + (s2.z + s2.w);
              let score = select(2.0 * kUnset, sum, key_start + k + 2u < seen);
              weights[(k + 2u) * 8u + lane] = score;
              top = max(top, score);
            }
            {
              let sum = (s3.x + s3.y) + (s3.z + s3.w);
              let score = select(2.0 * kUnset, sum, key_start + k + 3u < seen);
              weights[(k + 3u) * 8u + lane] = score;
              top = max(top, score);
            }
          }
          let factor = exp2(row_max - top);
          row_max = top;
          row_sum *= factor;
          for (var k = 0u; k < keys; k++) {
            let weight = exp2(weights[k * 8u + lane] - top);
            weights[k * 8u + lane] = weight;
            row_sum += weight;
          }
          let value_at = cache + key_start * 2u;
          {
            var a0 = o0 * factor;
            var a1 = o1 * factor;
            for (var k = 0u; k < keys; k++) {
              let weight = weights[k * 8u + lane];
              let at = value_at + k * 2u;
              a0 += weight * bitcast<vec4<f32>>(past_value[at + 0u]);
              a1 += weight * bitcast<vec4<f32>>(past_value[at + 1u]);
            }
            o0 = a0;
            o1 = a1;
          }
        }
      }
    }
  }

  if (exists) {
    let inverse = select(0.0, 1.0 / row_sum, row_sum > 0.0);
    let at = (token * 2u + head) * 1u;
    store_output(at + 0u, mat2x4<f32>(o0, o1) * inverse);
  }
}







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

const kMasked: f32 = -3.0e38;
const kLowest: f32 = -1.0e38;

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

var<workgroup> live_bits: array<atomic<u32>, 1>;
var<workgroup> live_list: array<u32, 32>;
var<workgroup> live_keys: u32;

fn live_block(entry: u32) -> u32 {
  return entry;
}

// Source head * 1 + row lists this block.
fn live_for(entry: u32, source: u32) -> bool {
  return true;
}

fn listed_bits(word: u32) -> u32 {
  return atomicLoad(&live_bits[0u + word]);
}

// The lists of the sources, and of each the entry that is this lane's first: asked for all at once.
struct AskedLists {
  layout0: u32,
  begin0: i32,
  stop0: i32,
  column0: i32,
};

fn ask_lists(lane: u32, head: u32, first_row: u32) -> AskedLists {
  var asked: AskedLists;
  let row0 = min(first_row, params.blocks - 1u);
  asked.layout0 = (head) % params.layouts;
  asked.begin0 = clamp(block_rows[asked.layout0 * (params.blocks + 1u) + row0], 0, i32(params.columns));
  asked.stop0 = clamp(block_rows[asked.layout0 * (params.blocks + 1u) + row0 + 1u], 0, i32(params.columns));
  // Lanes beyond the list have no use for theirs.
  let at0 = u32(asked.begin0) + lane;
  asked.column0 = block_columns[asked.layout0 * params.columns + select(0u, at0, at0 < u32(asked.stop0))];
  return asked;
}

// Lists the live blocks in [start, start + 32) and returns how many keys they hold up to key position `end` (exclusive, not zero).
fn list_asked_blocks(lane: u32, asked: AskedLists, first_row: u32, start: u32, end: u32) -> u32 {
  if (lane < 1u) {
    let i = lane;
    atomicStore(&live_bits[i], 0u);
  }
  workgroupBarrier();
  {
    let last = i32(min(min(first_row, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column0;
    for (var i = asked.begin0 + i32(lane); i < asked.stop0; i += 64) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[0u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 64 < asked.stop0) {
        column = block_columns[asked.layout0 * params.columns + u32(i + 64)];
      }
    }
  }
  workgroupBarrier();
  if (lane < 32u) {
    let block = lane;
    let mine = block / 32u;
    let bit = block % 32u;
    let bits = listed_bits(mine);
    if (((bits >> bit) & 1u) != 0u) {
      var ordinal = countOneBits(bits & ((1u << bit) - 1u));
      ordinal += select(0u, countOneBits(listed_bits(0u)), 0u < mine);
      var entry = start + block;
      live_list[ordinal] = entry;
    }
  }
  if (lane == 0u) {
    var count = 0u;
    var last_block = 0u;
    for (var word = 0u; word < 1u; word++) {
      let bits = listed_bits(word);
      count += countOneBits(bits);
      last_block = select(last_block, start + word * 32u + firstLeadingBit(bits), bits != 0u);
    }
    // Only the last block can be cut by the end.
    let block_end = (last_block + 1u) * 16u;
    live_keys = select(0u, count * 16u - (max(block_end, end) - end), count > 0u);
  }
  return workgroupUniformLoad(&live_keys);
}

fn list_live_blocks(lane: u32, head: u32, first_row: u32, start: u32, end: u32) -> u32 {
  return list_asked_blocks(lane, ask_lists(lane, head, first_row), first_row, start, end);
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


var<workgroup> staged_query: array<mat2x4<f32>, 8>;
var<workgroup> weights: array<f32, 128>;
var<workgroup> partial_max: array<f32, 64>;
var<workgroup> partial_sum: array<f32, 64>;
var<workgroup> row_scale: array<f32, 8>;
var<workgroup> row_sum: array<f32, 8>;
var<workgroup> merged: array<mat2x4<f32>, 16>;

struct Tile { item: u32, head: u32, kv_head: u32, past: u32, live: u32, base: u32 };

fn row_head(row: u32) -> u32 {
  return row / 8u;
}

fn row_position(tile: Tile, row: u32) -> u32 {
  return tile.base + row % 8u;
}

// A row that has a place in the output; whether its token is live is another question.
fn row_exists(tile: Tile, row: u32) -> bool {
  let position = row_position(tile, row);
  return position >= tile.past && position < tile.past + params.sequence;
}

fn token_head(tile: Tile, row: u32, heads: u32) -> u32 {
  let token = tile.item * params.sequence + row_position(tile, row) - tile.past;
  return (token * heads + tile.head + row_head(row)) * 1u;
}

fn query_octet(tile: Tile, row: u32, octet: u32) -> mat2x4<f32> {
  if (row < 8u && row_exists(tile, row)) {
    return load_query(token_head(tile, row, 2u) + octet) * params.scale;
  }
  return mat2x4<f32>();
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let index = group.x + group.y * 65535u;
  if (index >= params.tiles) {
    return;
  }
  // Late tokens have the longest rows: they go first.
  let head_group = index % 2u;
  let rest = index / 2u;
  let token_tile = params.token_tiles - 1u - rest % params.token_tiles;
  var tile: Tile;
  tile.item = rest / params.token_tiles;
  tile.kv_head = head_group / 1u;
  tile.head = tile.kv_head * 1u + head_group % 1u * 1u;
  let span = item_span(tile.item);
  tile.past = span.x;
  tile.live = span.y;
  tile.base = (span.x / 8u + token_tile) * 8u;
  let first = max(tile.base, tile.past);
  let last = min(tile.base + 8u, tile.past + params.sequence);
  if (first >= last) {
    return;
  }
  let end = min(last, tile.live);
  let cache_head = (tile.item * 2u + tile.kv_head) * params.capacity * 1u;
  let block_row = min(tile.base / 16u, params.blocks - 1u);

  for (var i = lane; i < 8u; i += 64u) {
    staged_query[i] = query_octet(tile, i / 1u, i % 1u);
  }

  let score_key = lane % 16u;
  let score_row = lane / 16u * 2u;
  let soft_row = lane / 8u;
  let soft_lane = lane % 8u;
  let value_octet = lane % 1u;
  let value_part = lane / 1u;
  var running_max = kMasked;
  var sum0_0 = mat2x4<f32>();
  var sum1_0 = mat2x4<f32>();
  var sum2_0 = mat2x4<f32>();
  var sum3_0 = mat2x4<f32>();
  var sum4_0 = mat2x4<f32>();
  var sum5_0 = mat2x4<f32>();
  var sum6_0 = mat2x4<f32>();
  var sum7_0 = mat2x4<f32>();

  let windows = select(block_row / 32u + 1u, 0u, first >= end);
  if (lane < 8u) {
    row_sum[lane] = 0.0;
  }
  for (var window = 0u; window < windows; window++) {
    let key_tiles = (list_live_blocks(lane, tile.head, block_row, window * 32u, end) + 15u) / 16u;
    for (var t = 0u; t < key_tiles; t++) {
      let entry = live_list[t / 1u];
      let key_start = live_block(entry) * 16u + t % 1u * 16u;

      // Scores: one key and scoreRows rows per lane.
      let key_position = key_start + score_key;
      var score0 = 0.0;
      var score1 = 0.0;
      if (key_position < end && score_row < 8u) {
        let key_at = cache_head + key_position * 1u;
        for (var octet = 0u; octet < 1u; octet++) {
          let k = load_past_key(key_at + octet);
          let q0 = staged_query[min(score_row + 0u, 7u) * 1u + octet];
          score0 += dot(q0[0], k[0]) + dot(q0[1], k[1]);
          let q1 = staged_query[min(score_row + 1u, 7u) * 1u + octet];
          score1 += dot(q1[0], k[0]) + dot(q1[1], k[1]);
        }
      }
      if (score_row + 0u < 8u) {
        let row = score_row + 0u;
        let allowed = key_position < end && row_exists(tile, row) && key_position <= row_position(tile, row);
        weights[row * 16u + score_key] = select(kMasked, max(score0, kLowest), allowed);
      }
      if (score_row + 1u < 8u) {
        let row = score_row + 1u;
        let allowed = key_position < end && row_exists(tile, row) && key_position <= row_position(tile, row);
        weights[row * 16u + score_key] = select(kMasked, max(score1, kLowest), allowed);
      }
      workgroupBarrier();

      // Softmax: softLanes lanes per row.
      if (soft_row < 8u) {
        var top = kMasked;
        for (var k = soft_lane; k < 16u; k += 8u) {
          top = max(top, weights[soft_row * 16u + k]);
        }
        partial_max[lane] = top;
      }
      workgroupBarrier();
      if (soft_row < 8u) {
        var top = running_max;
        for (var k = 0u; k < 8u; k++) {
          top = max(top, partial_max[soft_row * 8u + k]);
        }
        var total = 0.0;
        for (var k = soft_lane; k < 16u; k += 8u) {
          let at = soft_row * 16u + k;
          let score = weights[at];
          let weight = select(0.0, exp2(score - top), score >= kLowest);
          weights[at] = weight;
          total += weight;
        }
        partial_sum[lane] = total;
        if (soft_lane == 0u) {
          row_scale[soft_row] = exp2(running_max - top);
        }
        running_max = top;
      }
      workgroupBarrier();
      if (lane < 8u) {
        var total = row_sum[lane] * row_scale[lane];
        for (var k = 0u; k < 8u; k++) {
          total += partial_sum[lane * 8u + k];
        }
        row_sum[lane] = total;
      }

      // Values: one octet and one partition of the keys per lane, for all rows.
      if (value_part < 16u) {
        let scale0 = row_scale[0];
        sum0_0 *= scale0;
        let scale1 = row_scale[1];
        sum1_0 *= scale1;
        let scale2 = row_scale[2];
        sum2_0 *= scale2;
        let scale3 = row_scale[3];
        sum3_0 *= scale3;
        let scale4 = row_scale[4];
        sum4_0 *= scale4;
        let scale5 = row_scale[5];
        sum5_0 *= scale5;
        let scale6 = row_scale[6];
        sum6_0 *= scale6;
        let scale7 = row_scale[7];
        sum7_0 *= scale7;
        let keys = min(16u, end - key_start);
        for (var k = value_part; k < keys; k += 16u) {
          let value_at = cache_head + (key_start + k) * 1u + value_octet;
          {
            let v = load_past_value(value_at + 0u);
            sum0_0 += v * weights[0u + k];
            sum1_0 += v * weights[16u + k];
            sum2_0 += v * weights[32u + k];
            sum3_0 += v * weights[48u + k];
            sum4_0 += v * weights[64u + k];
            sum5_0 += v * weights[80u + k];
            sum6_0 += v * weights[96u + k];
            sum7_0 += v * weights[112u + k];
          }
        }
      }
      workgroupBarrier();
    }
  }

  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum0_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum0_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 0u)) {
    let total = row_sum[0];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 0u, 2u) + lane + 0u, sum0_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum1_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum1_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 1u)) {
    let total = row_sum[1];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 1u, 2u) + lane + 0u, sum1_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum2_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum2_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 2u)) {
    let total = row_sum[2];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 2u, 2u) + lane + 0u, sum2_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum3_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum3_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 3u)) {
    let total = row_sum[3];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 3u, 2u) + lane + 0u, sum3_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum4_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum4_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 4u)) {
    let total = row_sum[4];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 4u, 2u) + lane + 0u, sum4_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum5_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum5_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 5u)) {
    let total = row_sum[5];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 5u, 2u) + lane + 0u, sum5_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum6_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum6_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 6u)) {
    let total = row_sum[6];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 6u, 2u) + lane + 0u, sum6_0 * inverse);
    }
  }
  workgroupBarrier();
  if (value_part < 16u) {
    merged[lane] = sum7_0;
  }
  workgroupBarrier();
  if (lane < 1u) {
    for (var part = 1u; part < 16u; part++) {
      sum7_0 += merged[part * 1u + lane];
    }
  }
  if (lane < 1u && row_exists(tile, 7u)) {
    let total = row_sum[7];
    let inverse = select(0.0, 1.0 / total, total > 0.0);
    {
      store_output(token_head(tile, 7u, 2u) + lane + 0u, sum7_0 * inverse);
    }
  }
  workgroupBarrier();
}
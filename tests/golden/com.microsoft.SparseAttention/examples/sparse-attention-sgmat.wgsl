enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
enable chromium_disable_uniformity_analysis;
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
  let sequence = i32(params.sequence);
  let limit = i32(params.limit);
  if (total_length[0] == sequence) {
    return vec2<u32>(0u, u32(clamp(lengths[item], 0, min(sequence, limit))));
  }
  let live = max(clamp(lengths[item], 0, limit), min(sequence, limit));
  return vec2<u32>(u32(max(live - sequence, 0)), u32(live));
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

// Lists the live blocks in [start, start + 32) and returns how many keys they hold up to key position `end` (exclusive, not zero).
fn list_live_blocks(lane: u32, head: u32, first_row: u32, start: u32, end: u32) -> u32 {
  for (var i = lane; i < 1u; i += 128u) {
    atomicStore(&live_bits[i], 0u);
  }
  workgroupBarrier();
  for (var source = 0u; source < 1u; source++) {
    let row = min(first_row, params.blocks - 1u);
    let mask_row = (head) % params.layouts;
    let pointers = mask_row * (params.blocks + 1u) + row;
    let begin = clamp(block_rows[pointers], 0, i32(params.columns));
    let stop = clamp(block_rows[pointers + 1u], 0, i32(params.columns));
    let last = i32(min(row, (end - 1u) / 128u));
    for (var i = begin + i32(lane); i < stop; i += 128) {
      let column = block_columns[mask_row * params.columns + u32(i)];
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[source * 1u + bit / 32u], 1u << (bit % 32u));
      }
    }
  }
  workgroupBarrier();
  for (var mine = lane; mine < 1u; mine += 128u) {
    var count = 0u;
    var bits = 0u;
    for (var word = 0u; word <= mine; word++) {
      bits = 0u;
      for (var source = 0u; source < 1u; source++) {
        bits |= atomicLoad(&live_bits[source * 1u + word]);
      }
      count += countOneBits(bits);
    }
    if (mine == 0u) {
      live_keys = count * 128u;
    }
    count -= countOneBits(bits);
    while (bits != 0u) {
      let bit = firstTrailingBit(bits);
      bits &= bits - 1u;
      var entry = start + mine * 32u + bit;
      live_list[count] = entry;
      count++;
    }
  }
  let keys = workgroupUniformLoad(&live_keys);
  if (lane == 0u && keys > 0u) {
    // Only the last block can be cut by the end.
    let block_end = (live_block(live_list[keys / 128u - 1u]) + 1u) * 128u;
    live_keys = keys - (max(block_end, end) - end);
  }
  return workgroupUniformLoad(&live_keys);
}

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[octet] = vec4<u32>(pack_halves4(value[0]), pack_halves4(value[1]));
}

fn load_query(octet: u32) -> mat2x4<f32> {
  let words = query[octet];
  return mat2x4<f32>(unpack_halves4(words.xy), unpack_halves4(words.zw));
}


var<workgroup> pool: array<vec4<u32>, 1312>;
var<workgroup> row_factor: array<f32, 64>;
var<workgroup> rescale_votes: array<atomic<u32>, 2>;


// Position of key `key` of tile `tile`, in keys from the start of the window's list; none beyond `keys`.
fn key_position(key: u32, keys: u32) -> u32 {
  if (key >= keys) {
    return 0xffffffffu;
  }
  return live_block(live_list[key / 128u]) * 128u + key % 128u;
}



@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  
  let index = group.x + group.y * 65535u;
  if (index >= params.tiles) {
    return;
  }
  // The heads of a KV head are neighbours; late tokens have the longest rows and go first.
  let head_group = index % 2u;
  let rest = index / 2u;
  let token_tile = params.token_tiles - 1u - rest % params.token_tiles;
  let item = rest / params.token_tiles;
  let kv_head = head_group / 1u;
  let first_head = kv_head * 1u + head_group % 1u * 1u;
  let span = item_span(item);
  let past = span.x;
  let base = (past / 64u + token_tile) * 64u;
  let first = max(base, past);
  let last = min(base + 64u, past + params.sequence);
  if (first >= last) {
    return;
  }
  let end = min(last, span.y);
  let cache_head = (item * 2u + kv_head) * params.capacity * 3u;
  let block_row = base / 128u;

  // The row that this lane takes through the softmax, with 2 lane(s) a row.
  // Remainders where the value is in range anyway: they let Tint prove indices, so that safe mode needs no bounds checks in the loops.
  let fragment_row = subgroup % 4u * 16u;
  let row = fragment_row + subgroup_lane % 32u / 2u;
  let row_lane = subgroup_lane % 2u;
  let position = base + row % 64u;
  let head = first_head + row / 64u;
  let exists = position >= first && position < last;
  let source = row / 64u * 1u;
  let score_row = 480u + row * 13u;

  // The query tile, rotated and rounded, goes through the pool into fragments.
  for (var i = lane; i < 256u; i += 128u) {
    let query_row = i / 4u;
    let octet = i % 4u + 0u;
    let query_position = base + query_row % 64u;
    let query_head = first_head + query_row / 64u;
    var words_0 = vec4<u32>();
    var words_1 = vec4<u32>();
    if (query_position >= first && query_position < last && octet < 3u && query_head < 2u) {
      let at = ((item * params.sequence + query_position - past) * 2u + query_head) * 3u;
      words_0 = query[1u * (at + octet) + 0u];
    }
    pool[0u + query_row * 5u + (octet - 0u) * 1u + 0u] = words_0;
}
  workgroupBarrier();
  let q0_0_0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&pool, 0u + (fragment_row + 0u) * 5u + 0u, 5u);
  let q0_0_1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&pool, 0u + (fragment_row + 0u) * 5u + 2u, 5u);
  var o0_0 = subgroup_matrix_result<f32, 16, 16>();
  var o0_1 = subgroup_matrix_result<f32, 16, 16>();
  var row_max = kUnset;
  var row_sum = 0.0;
  if (lane < 2u) {
    atomicStore(&rescale_votes[lane], 0u);
  }
  workgroupBarrier();

  var next_key0_0: vec4<u32>;
  var next_value0_0: vec4<u32>;

  let windows = select(min((end - 1u) / 128u, params.blocks - 1u) / 32u + 1u, 0u, first >= end);
  for (var window = windows; window > 0u; window--) {
    let keys = list_live_blocks(lane, first_head, block_row, (window - 1u) * 32u, end);
    let tiles = (keys + 31u) / 32u;
    if (tiles > 0u) {
      {
        let i = lane + 0u;
        let octet = i % 4u;
        let key_at = key_position((tiles - 1u) * 32u + i / 4u, keys);
        if (key_at < end && octet < 3u) {
          let at = 1u * (cache_head + key_at * 3u + octet);
          next_key0_0 = past_key[at + 0u];
          next_value0_0 = past_value[at + 0u];
        } else {
          next_key0_0 = vec4<u32>();
          next_value0_0 = vec4<u32>();
        }
      }
    {
      let staged_row = (lane + 0u) / 4u;
      let octet = (lane + 0u) % 4u;
      let value_region = (tiles - 1u) % 2u * 160u;
    pool[320u + staged_row * 5u + (octet) * 1u + 0u] = next_key0_0;
    pool[value_region + staged_row * 5u + (octet) * 1u + 0u] = next_value0_0;
}
}
    workgroupBarrier();
    for (var tile = tiles; tile > 0u; tile--) {
      let t = tile - 1u;
      // Scores of this tile.
      for (var k = 0u; k < 2u; k++) {
        var s0 = subgroup_matrix_result<f32, 16, 16>();
        let at = 320u + k * 80u;
        {
          let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&pool, at + 0u, 5u);
          s0 = subgroupMatrixMultiplyAccumulate(q0_0_0, b0, s0);
        }
        {
          let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&pool, at + 2u, 5u);
          s0 = subgroupMatrixMultiplyAccumulate(q0_0_1, b0, s0);
        }
        subgroupMatrixStore<row_major>(&pool, 480u + (fragment_row + 0u) * 13u + k * 4u, s0, 13u);
      }
      workgroupBarrier();

      if (t > 0u) {
      {
        let i = lane + 0u;
        let octet = i % 4u;
        let key_at = key_position((t - 1u) * 32u + i / 4u, keys);
        if (key_at < end && octet < 3u) {
          let at = 1u * (cache_head + key_at * 3u + octet);
          next_key0_0 = past_key[at + 0u];
          next_value0_0 = past_value[at + 0u];
        } else {
          next_key0_0 = vec4<u32>();
          next_value0_0 = vec4<u32>();
        }
      }
}
      // Softmax of this lane's part of its row: words row_lane * 4 and on.
      if (lane == 0u) {
        atomicStore(&rescale_votes[(t + 1u) % 2u], 0u);
      }
      let words_at = score_row + row_lane * 4u;
      let key_at = t * 32u + row_lane * 16u;
      for (var i = 0u; i < 16u; i += 16u) {
        // Keys of one block that this row may see; the others get a score that weighs nothing.
        var allowed = 0u;
        if (exists && key_at + i < keys) {
          let entry = live_list[(key_at + i) / 128u];
          let start = live_block(entry) * 128u + (key_at + i) % 128u;
          if (live_for(entry, source) && start <= position) {
            allowed = min(min(position + 1u, end) - min(start, end), 16u);
          }
        }
        for (var j = allowed; j < 16u; j++) {
          pool[words_at + (i + j) / 4u][(i + j) % 4u] = bitcast<u32>(params.masked);
        }
      }
      var top4 = vec4<f32>(kUnset);
      top4 = max(top4, bitcast<vec4<f32>>(pool[words_at + 0u]) * params.scale);
      top4 = max(top4, bitcast<vec4<f32>>(pool[words_at + 1u]) * params.scale);
      top4 = max(top4, bitcast<vec4<f32>>(pool[words_at + 2u]) * params.scale);
      top4 = max(top4, bitcast<vec4<f32>>(pool[words_at + 3u]) * params.scale);
      var top = max(max(top4.x, top4.y), max(top4.z, top4.w));
      top = max(top, subgroupShuffleXor(top, 1u));
      var factor = 1.0;
      if (top > row_max + 10.0) {
        if (row_max > kUnset) {
          factor = exp2(row_max - top);
          row_sum *= factor;
          atomicStore(&rescale_votes[t % 2u], 1u);
        }
        row_max = top;
      }
      if (row_lane == 0u) {
        row_factor[row] = factor;
      }
      var sum4 = vec4<f32>();
      {
        let low = exp2(bitcast<vec4<f32>>(pool[words_at + 0u]) * params.scale - row_max);
        let high = exp2(bitcast<vec4<f32>>(pool[words_at + 1u]) * params.scale - row_max);
        sum4 += low + high;
        let weights_at = score_row + 8u + row_lane * 2u;
        pool[weights_at] = vec4<u32>(pack_halves4(low), pack_halves4(high));
      }
      {
        let low = exp2(bitcast<vec4<f32>>(pool[words_at + 2u]) * params.scale - row_max);
        let high = exp2(bitcast<vec4<f32>>(pool[words_at + 3u]) * params.scale - row_max);
        sum4 += low + high;
        let weights_at = score_row + 9u + row_lane * 2u;
        pool[weights_at] = vec4<u32>(pack_halves4(low), pack_halves4(high));
      }
      row_sum += (sum4.x + sum4.y) + (sum4.z + sum4.w);
      if (t > 0u) {
    {
      let staged_row = (lane + 0u) / 4u;
      let octet = (lane + 0u) % 4u;
      let value_region = (t - 1u) % 2u * 160u;
    pool[320u + staged_row * 5u + (octet) * 1u + 0u] = next_key0_0;
    pool[value_region + staged_row * 5u + (octet) * 1u + 0u] = next_value0_0;
}
}
      workgroupBarrier();

      if (atomicLoad(&rescale_votes[t % 2u]) != 0u) {
        // Rare: some rows have a new maximum. Their output fragments go through the free part of their score rows.
        subgroupMatrixStore<row_major>(&pool, 480u + (fragment_row + 0u) * 13u, o0_0, 13u);
        workgroupBarrier();
        for (var word = row_lane; word < 4u; word += 2u) {
          let at = score_row + 0u + word;
          pool[at] = bitcast<vec4<u32>>(bitcast<vec4<f32>>(pool[at]) * row_factor[row]);
        }
        workgroupBarrier();
        o0_0 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&pool, 480u + (fragment_row + 0u) * 13u, 13u);
        subgroupMatrixStore<row_major>(&pool, 480u + (fragment_row + 0u) * 13u, o0_1, 13u);
        workgroupBarrier();
        for (var word = row_lane; word < 4u; word += 2u) {
          let at = score_row + 0u + word;
          pool[at] = bitcast<vec4<u32>>(bitcast<vec4<f32>>(pool[at]) * row_factor[row]);
        }
        workgroupBarrier();
        o0_1 = subgroupMatrixLoad<subgroup_matrix_result<f32, 16, 16>, row_major>(&pool, 480u + (fragment_row + 0u) * 13u, 13u);
        workgroupBarrier();
      }

      // Weights times values.
      for (var k = 0u; k < 2u; k++) {
        let p0_0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&pool, 488u + (fragment_row + 0u) * 13u + k * 2u, 13u);
        let at = t % 2u * 160u + k * 80u;
        {
          let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&pool, at + 0u, 5u);
          o0_0 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_0);
        }
        {
          let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, row_major>(&pool, at + 2u, 5u);
          o0_1 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_1);
        }
      }
    }
    workgroupBarrier();
  }

  // Outputs leave through the score rows, 32 columns at a time.
  row_sum += subgroupShuffleXor(row_sum, 1u);
  if (row_lane == 0u) {
    row_factor[row] = select(0.0, 1.0 / row_sum, row_sum > 0.0);
  }
  subgroupMatrixStore<row_major>(&pool, 480u + (fragment_row + 0u) * 13u + 0u, o0_0, 13u);
  subgroupMatrixStore<row_major>(&pool, 480u + (fragment_row + 0u) * 13u + 4u, o0_1, 13u);
  workgroupBarrier();
  for (var i = lane; i < 256u; i += 128u) {
    let out_row = i / 4u;
    let octet = i % 4u + 0u;
    let out_position = base + out_row % 64u;
    let out_head = first_head + out_row / 64u;
    if (out_position >= first && out_position < last && octet < 3u) {
      let at = 480u + out_row * 13u + i % 4u * 2u;
      store_output(((item * params.sequence + out_position - past) * 2u + out_head) * 3u + octet,
                   mat2x4<f32>(bitcast<vec4<f32>>(pool[at]), bitcast<vec4<f32>>(pool[at + 1u])) * row_factor[out_row]);
    }
  }
  workgroupBarrier();
}
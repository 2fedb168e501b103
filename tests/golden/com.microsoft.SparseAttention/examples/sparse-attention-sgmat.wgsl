enable subgroups;
enable chromium_experimental_subgroup_matrix;
enable chromium_disable_uniformity_analysis;









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
const kMasked: f32 = -2.0e30;
const kNowhere: u32 = 0xffffffffu;

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

var<workgroup> live_bits: array<atomic<u32>, 2>;
var<workgroup> live_list: array<u32, 32>;
var<workgroup> live_keys: u32;

fn live_block(entry: u32) -> u32 {
  return entry & 0xffffffu;
}

// Source head * 2 + row lists this block.
fn live_for(entry: u32, source: u32) -> bool {
  return ((entry >> (24u + source)) & 1u) != 0u;
}

fn listed_bits(word: u32) -> u32 {
  return atomicLoad(&live_bits[0u + word]) | atomicLoad(&live_bits[1u + word]);
}

// The lists of the sources, and of each the entry that is this lane's first: asked for all at once.
struct AskedLists {
  layout0: u32,
  begin0: i32,
  stop0: i32,
  column0: i32,
  layout1: u32,
  begin1: i32,
  stop1: i32,
  column1: i32,
};

fn ask_lists(lane: u32, head: u32, first_row: u32) -> AskedLists {
  var asked: AskedLists;
  let row0 = min(first_row, params.blocks - 1u);
  asked.layout0 = (head) % params.layouts;
  asked.begin0 = clamp(block_rows[asked.layout0 * (params.blocks + 1u) + row0], 0, i32(params.columns));
  asked.stop0 = clamp(block_rows[asked.layout0 * (params.blocks + 1u) + row0 + 1u], 0, i32(params.columns));
  let row1 = min(first_row + 1u, params.blocks - 1u);
  asked.layout1 = (head) % params.layouts;
  asked.begin1 = clamp(block_rows[asked.layout1 * (params.blocks + 1u) + row1], 0, i32(params.columns));
  asked.stop1 = clamp(block_rows[asked.layout1 * (params.blocks + 1u) + row1 + 1u], 0, i32(params.columns));
  // Lanes beyond the list have no use for theirs.
  let at0 = u32(asked.begin0) + lane;
  asked.column0 = block_columns[asked.layout0 * params.columns + select(0u, at0, at0 < u32(asked.stop0))];
  // Lanes beyond the list have no use for theirs.
  let at1 = u32(asked.begin1) + lane;
  asked.column1 = block_columns[asked.layout1 * params.columns + select(0u, at1, at1 < u32(asked.stop1))];
  return asked;
}

// Lists the live blocks in [start, start + 32) and returns how many keys they hold up to key position `end` (exclusive, not zero).
fn list_asked_blocks(lane: u32, asked: AskedLists, first_row: u32, start: u32, end: u32) -> u32 {
  if (lane < 2u) {
    let i = lane;
    atomicStore(&live_bits[i], 0u);
  }
  workgroupBarrier();
  {
    let last = i32(min(min(first_row, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column0;
    for (var i = asked.begin0 + i32(lane); i < asked.stop0; i += 128) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[0u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 128 < asked.stop0) {
        column = block_columns[asked.layout0 * params.columns + u32(i + 128)];
      }
    }
  }
  {
    let last = i32(min(min(first_row + 1u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column1;
    for (var i = asked.begin1 + i32(lane); i < asked.stop1; i += 128) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[1u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 128 < asked.stop1) {
        column = block_columns[asked.layout1 * params.columns + u32(i + 128)];
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
      entry |= ((atomicLoad(&live_bits[0u + mine]) >> bit) & 1u) << 24u;
      entry |= ((atomicLoad(&live_bits[1u + mine]) >> bit) & 1u) << 25u;
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

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}

fn load_query(octet: u32) -> mat2x4<f32> {
  return mat2x4<f32>(bitcast<vec4<f32>>(query[2u * octet]), bitcast<vec4<f32>>(query[2u * octet + 1u]));
}


// Arrays of arrays: what a subgroup takes of them is one element, so that offsets inside are constants which need no checks.
var<workgroup> score_rows: array<array<vec4<u32>, 88>, 4>;
var<workgroup> key_tile: array<array<vec4<u32>, 96>, 1>;
var<workgroup> value_tile: array<array<vec4<u32>, 96>, 1>;
var<workgroup> row_factor: array<f32, 32>;
// The round before which output fragments are rescaled.
var<workgroup> rescale_round: atomic<u32>;


// Position of key `key`, in keys from the start of the window's list; none beyond `keys`. Without branches, at whose ends loads are waited for.
fn key_position(key: u32, keys: u32) -> u32 {
  let position = live_block(live_list[key / 16u % 32u]) * 16u + key % 16u;
  return select(0xffffffffu, position, key < keys);
}



@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  
  let index = group.x + group.y * 65535u;
  if (index >= params.tiles) {
    return;
  }
  // The heads of a KV head are neighbours; late tokens have the longest rows and go first.
  let rest = index / 2u;
  let token_tile = params.token_tiles - 1u - rest % params.token_tiles;
  let near = rest / params.token_tiles;
  let item = near;
  let head_group = index % 2u;
  let kv_head = head_group / 1u;
  let first_head = kv_head * 1u + head_group % 1u * 1u;
  let span = item_span(item);
  let past = span.x;
  let base = (past / 32u + token_tile) * 32u;
  let first = max(base, past);
  let last = min(base + 32u, past + params.sequence);
  if (first >= last) {
    return;
  }
  let end = min(last, span.y);
  let cache_head = (item * 2u + kv_head) * params.capacity * 1u;
  let block_row = base / 16u;
  let asked = ask_lists(lane, first_head, block_row);

  // The row that this lane takes through the softmax, with 4 lane(s) a row.
  // Remainders where the value is in range anyway: they let Tint prove indices, so that safe mode needs no bounds checks in the loops.
  let row_group = subgroup % 4u / 1u;
  let own_part = 0u;
  let group_row = subgroup_lane % 32u / 4u;
  let row = row_group * 8u + group_row;
  let row_lane = subgroup_lane % 4u;
  let position = base + row % 32u;
  let head = first_head + row / 32u;
  let exists = position >= first && position < last;
  let source = row / 32u * 2u + row % 32u / 16u;
  let score_row = group_row * 11u;


  let whole = first == base && last == base + 32u;
  if (!whole) {
  if (lane < 32u) {
    let i = lane;
    let query_row = i / 1u;
    let octet = i % 1u + 0u;
    let query_position = base + query_row % 32u;
    let query_head = first_head + query_row / 32u;
    var words_0 = vec4<u32>();
    var words_1 = vec4<u32>();
    if (query_position >= first && query_position < last && octet < 1u && query_head < 2u) {
      let at = ((item * params.sequence + query_position - past) * 2u + query_head) * 1u;
      words_0 = query[2u * (at + octet) + 0u];
      words_1 = query[2u * (at + octet) + 1u];
    }
    score_rows[query_row / 8u][query_row % 8u * 11u + (octet - 0u) * 2u + 0u] = words_0;
    score_rows[query_row / 8u][query_row % 8u * 11u + (octet - 0u) * 2u + 1u] = words_1;
}
  }
  workgroupBarrier();
  var q0_0_0: subgroup_matrix_left<f32, 8, 8>;
  if (whole) {
    let fragment_row = row_group * 8u;
    let at = ((item * params.sequence + base - past + fragment_row % 32u) * 2u + first_head + fragment_row / 32u) * 1u * 2u;
    q0_0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&query, at + 0u, 4u);
  } else {
    q0_0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&score_rows[row_group], 0u, 11u);
  }
  var o0_0 = subgroup_matrix_result<f32, 8, 8>();
  var row_max = kUnset;
  var row_sum = 0.0;
  var factor = 1.0;
  workgroupBarrier();

  let copy_row0 = (lane + 0u) / 1u;
  let copy_octet0 = (lane + 0u) % 1u;
  var at_key0 = kNowhere;
  var at_value0 = kNowhere;
  var next_key0_0: vec4<u32>;
  var next_value0_0: vec4<u32>;
  var next_key0_1: vec4<u32>;
  var next_value0_1: vec4<u32>;
  let words_at = score_row + row_lane * 2u;
  let stop_row = select(0u, min(position + 1u, end), exists);

  let windows = select(min((end - 1u) / 16u, params.blocks - 1u) / 32u + 1u, 0u, first >= end);
  for (var window = windows; window > 0u; window--) {
    let keys = list_asked_blocks(lane, asked, block_row, (window - 1u) * 32u, end);
    let tiles = (keys + 31u) / 32u;
    if (tiles > 0u) {
      if (lane == 0u) {
        atomicStore(&rescale_round, kNowhere);
      }
      {
        let key_at = key_position((tiles - 1u) * 32u + copy_row0, select(0u, keys, true));
        at_key0 = select(kNowhere, 2u * (cache_head + key_at * 1u + copy_octet0), key_at < end && copy_row0 < 32u);
      }
      {
        let at = select(0u, at_key0, at_key0 != kNowhere);
        next_key0_0 = past_key[at + 0u];
        next_key0_1 = past_key[at + 1u];
      }
      if (lane + 0u < 32u) {
        let staged_row = copy_row0;
        let octet = copy_octet0;
    key_tile[staged_row % 32u / 32u][staged_row % 32u * 3u + octet * 2u + 0u] = next_key0_0;
    key_tile[staged_row % 32u / 32u][staged_row % 32u * 3u + octet * 2u + 1u] = next_key0_1;
      }
      workgroupBarrier();
      // Round i multiplies the weights of tile i with its values and the queries with the keys of tile i - 1, while tiles i - 1 (values) and
      // i - 2 (keys) are on their way; then scores become weights. Round 0 stops before the keys.
      for (var round = tiles + 1u; round > 0u; round--) {
        let i = round - 1u;
        // Asked for early, as the list is a round ahead: what is read from workgroup memory just before its use is waited for.
        let rescaled = atomicLoad(&rescale_round);
        at_value0 = at_key0;
      {
        let key_at = key_position((i - 2u) * 32u + copy_row0, select(0u, keys, i > 1u));
        at_key0 = select(kNowhere, 2u * (cache_head + key_at * 1u + copy_octet0), key_at < end && copy_row0 < 32u);
      }
      {
        let at = select(0u, at_value0, at_value0 != kNowhere);
        next_value0_0 = past_value[at + 0u];
        next_value0_1 = past_value[at + 1u];
      }
      {
        let at = select(0u, at_key0, at_key0 != kNowhere);
        next_key0_0 = past_key[at + 0u];
        next_key0_1 = past_key[at + 1u];
      }
if (rescaled == i) {
          // Rare: some rows have a new maximum. Their output fragments go through the free part of their score rows.
          subgroupMatrixStore<row_major>(&score_rows[row_group], 8u, o0_0, 11u);
          workgroupBarrier();
          for (var word = row_lane; word < 2u; word += 4u) {
            let at = score_row + 8u + word;
            score_rows[row_group][at] = bitcast<vec4<u32>>(bitcast<vec4<f32>>(score_rows[row_group][at]) * factor);
          }
          workgroupBarrier();
          o0_0 = subgroupMatrixLoad<subgroup_matrix_result<f32, 8, 8>, row_major>(&score_rows[row_group], 8u, 11u);
          workgroupBarrier();
}

        // Weights times values.
        if (i < tiles) {
        {
          let p0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&score_rows[row_group], 0u + 0u * 2u, 11u);
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, row_major>(&value_tile[own_part], 0u * 24u + 0u, 3u);
            o0_0 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_0);
          }
}
        {
          let p0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&score_rows[row_group], 0u + 1u * 2u, 11u);
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, row_major>(&value_tile[own_part], 1u * 24u + 0u, 3u);
            o0_0 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_0);
          }
}
        {
          let p0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&score_rows[row_group], 0u + 2u * 2u, 11u);
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, row_major>(&value_tile[own_part], 2u * 24u + 0u, 3u);
            o0_0 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_0);
          }
}
        {
          let p0_0 = subgroupMatrixLoad<subgroup_matrix_left<f32, 8, 8>, row_major>(&score_rows[row_group], 0u + 3u * 2u, 11u);
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, row_major>(&value_tile[own_part], 3u * 24u + 0u, 3u);
            o0_0 = subgroupMatrixMultiplyAccumulate(p0_0, b0, o0_0);
          }
}
        }
        if (i == 0u) {
          break;
        }

        // Scores of the next tile.
          var s0_0 = subgroup_matrix_result<f32, 8, 8>();
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, col_major>(&key_tile[own_part], 0u * 24u + 0u, 3u);
            s0_0 = subgroupMatrixMultiplyAccumulate(q0_0_0, b0, s0_0);
          }
          var s1_0 = subgroup_matrix_result<f32, 8, 8>();
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, col_major>(&key_tile[own_part], 1u * 24u + 0u, 3u);
            s1_0 = subgroupMatrixMultiplyAccumulate(q0_0_0, b0, s1_0);
          }
          var s2_0 = subgroup_matrix_result<f32, 8, 8>();
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, col_major>(&key_tile[own_part], 2u * 24u + 0u, 3u);
            s2_0 = subgroupMatrixMultiplyAccumulate(q0_0_0, b0, s2_0);
          }
          var s3_0 = subgroup_matrix_result<f32, 8, 8>();
          {
            let b0 = subgroupMatrixLoad<subgroup_matrix_right<f32, 8, 8>, col_major>(&key_tile[own_part], 3u * 24u + 0u, 3u);
            s3_0 = subgroupMatrixMultiplyAccumulate(q0_0_0, b0, s3_0);
          }
          subgroupMatrixStore<row_major>(&score_rows[row_group], 0u * 2u + 0u, s0_0, 11u);
          subgroupMatrixStore<row_major>(&score_rows[row_group], 1u * 2u + 0u, s1_0, 11u);
          subgroupMatrixStore<row_major>(&score_rows[row_group], 2u * 2u + 0u, s2_0, 11u);
          subgroupMatrixStore<row_major>(&score_rows[row_group], 3u * 2u + 0u, s3_0, 11u);
        workgroupBarrier();

        // Softmax of this lane's part of its row: words row_lane * 2 and on.
        var x0 = bitcast<vec4<f32>>(score_rows[row_group][words_at + 0u]) * params.scale;
        var x1 = bitcast<vec4<f32>>(score_rows[row_group][words_at + 1u]) * params.scale;
        // Of each run of keys, which are of one block, this row may see `allowed`; the others get a score that weighs nothing.
        let key_at = (i - 1u) * 32u + row_lane * 8u;
        let entry0 = live_list[(key_at + 0u) / 16u % 32u];
        let start0 = live_block(entry0) * 16u + (key_at + 0u) % 16u;
        let allowed0 = select(0u, min(max(stop_row, start0) - start0, 8u), key_at + 0u < keys && live_for(entry0, source));
        let seen0 = (1u << allowed0) - 1u;
        x0 = select(vec4<f32>(kMasked), x0, (vec4<u32>(seen0) & vec4<u32>(1u << 0u, 1u << 1u, 1u << 2u, 1u << 3u)) != vec4<u32>());
        x1 = select(vec4<f32>(kMasked), x1, (vec4<u32>(seen0) & vec4<u32>(1u << 4u, 1u << 5u, 1u << 6u, 1u << 7u)) != vec4<u32>());
        var top4 = x0;
        top4 = max(top4, x1);
        // The lanes of a row share its maximum: none writes a weight before all have read their scores.
        var top = max(max(top4.x, top4.y), max(top4.z, top4.w));
        top = max(top, subgroupShuffleXor(top, 1u));
        top = max(top, subgroupShuffleXor(top, 2u));
        top = max(top, kUnset);
        let raised = top > row_max + 15.0;
        // Room above the maximum: a row's first tile may hold few of its keys.
        let highest = select(row_max, top + 2.0, raised);
        factor = exp2(row_max - highest);
        row_sum *= factor;
        if (raised && row_max > kUnset) {
          atomicStore(&rescale_round, i - 1u);
        }
        row_max = highest;
        var sum4 = vec4<f32>();
        {
          let low = exp2(x0 - row_max);
          let high = exp2(x1 - row_max);
          sum4 += low + high;
          score_rows[row_group][words_at + 0u] = bitcast<vec4<u32>>(low);
          score_rows[row_group][words_at + 1u] = bitcast<vec4<u32>>(high);
        }
        row_sum += (sum4.x + sum4.y) + (sum4.z + sum4.w);
      if (lane + 0u < 32u) {
        let staged_row = copy_row0;
        let octet = copy_octet0;
    key_tile[staged_row % 32u / 32u][staged_row % 32u * 3u + octet * 2u + 0u] = next_key0_0;
    key_tile[staged_row % 32u / 32u][staged_row % 32u * 3u + octet * 2u + 1u] = next_key0_1;
      }
      if (lane + 0u < 32u) {
        next_value0_0 = select(vec4<u32>(), next_value0_0, vec4<bool>(at_value0 != kNowhere));
        next_value0_1 = select(vec4<u32>(), next_value0_1, vec4<bool>(at_value0 != kNowhere));
        let staged_row = copy_row0;
        let octet = copy_octet0;
    value_tile[octet / 1u][staged_row % 32u * 3u + octet % 1u * 2u + 0u] = next_value0_0;
    value_tile[octet / 1u][staged_row % 32u * 3u + octet % 1u * 2u + 1u] = next_value0_1;
      }
workgroupBarrier();
      }
    }
    workgroupBarrier();
  }

  // Outputs leave through the score rows, 32 columns at a time.
  row_sum += subgroupShuffleXor(row_sum, 1u);
  row_sum += subgroupShuffleXor(row_sum, 2u);
  if (row_lane == 0u) {
    row_factor[row] = select(0.0, 1.0 / row_sum, row_sum > 0.0);
  }
  subgroupMatrixStore<row_major>(&score_rows[row_group], 0u, o0_0, 11u);
  workgroupBarrier();
  if (lane < 32u) {
    let i = lane;
    let out_row = i / 1u;
    let octet = i % 1u + 0u;
    let out_position = base + out_row % 32u;
    let out_head = first_head + out_row / 32u;
    if (out_position >= first && out_position < last && octet < 1u) {
      let at = out_row % 8u * 11u + i % 1u * 2u;
      let out_group = out_row / 8u;
      store_output(((item * params.sequence + out_position - past) * 2u + out_head) * 1u + octet,
                   mat2x4<f32>(bitcast<vec4<f32>>(score_rows[out_group][at]), bitcast<vec4<f32>>(score_rows[out_group][at + 1u])) * row_factor[out_row]);
    }
  }
  workgroupBarrier();
}
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

var<workgroup> live_bits: array<atomic<u32>, 4>;
var<workgroup> live_list: array<u32, 32>;
var<workgroup> live_keys: u32;

fn live_block(entry: u32) -> u32 {
  return entry & 0xffffffu;
}

// Source head * 4 + row lists this block.
fn live_for(entry: u32, source: u32) -> bool {
  return ((entry >> (24u + source)) & 1u) != 0u;
}

fn listed_bits(word: u32) -> u32 {
  return atomicLoad(&live_bits[0u + word]) | atomicLoad(&live_bits[1u + word]) | atomicLoad(&live_bits[2u + word]) | atomicLoad(&live_bits[3u + word]);
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
  layout2: u32,
  begin2: i32,
  stop2: i32,
  column2: i32,
  layout3: u32,
  begin3: i32,
  stop3: i32,
  column3: i32,
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
  let row2 = min(first_row + 2u, params.blocks - 1u);
  asked.layout2 = (head) % params.layouts;
  asked.begin2 = clamp(block_rows[asked.layout2 * (params.blocks + 1u) + row2], 0, i32(params.columns));
  asked.stop2 = clamp(block_rows[asked.layout2 * (params.blocks + 1u) + row2 + 1u], 0, i32(params.columns));
  let row3 = min(first_row + 3u, params.blocks - 1u);
  asked.layout3 = (head) % params.layouts;
  asked.begin3 = clamp(block_rows[asked.layout3 * (params.blocks + 1u) + row3], 0, i32(params.columns));
  asked.stop3 = clamp(block_rows[asked.layout3 * (params.blocks + 1u) + row3 + 1u], 0, i32(params.columns));
  // Lanes beyond the list have no use for theirs.
  let at0 = u32(asked.begin0) + lane;
  asked.column0 = block_columns[asked.layout0 * params.columns + select(0u, at0, at0 < u32(asked.stop0))];
  // Lanes beyond the list have no use for theirs.
  let at1 = u32(asked.begin1) + lane;
  asked.column1 = block_columns[asked.layout1 * params.columns + select(0u, at1, at1 < u32(asked.stop1))];
  // Lanes beyond the list have no use for theirs.
  let at2 = u32(asked.begin2) + lane;
  asked.column2 = block_columns[asked.layout2 * params.columns + select(0u, at2, at2 < u32(asked.stop2))];
  // Lanes beyond the list have no use for theirs.
  let at3 = u32(asked.begin3) + lane;
  asked.column3 = block_columns[asked.layout3 * params.columns + select(0u, at3, at3 < u32(asked.stop3))];
  return asked;
}

// Lists the live blocks in [start, start + 32) and returns how many keys they hold up to key position `end` (exclusive, not zero).
fn list_asked_blocks(lane: u32, asked: AskedLists, first_row: u32, start: u32, end: u32) -> u32 {
  if (lane < 4u) {
    let i = lane;
    atomicStore(&live_bits[i], 0u);
  }
  workgroupBarrier();
  {
    let last = i32(min(min(first_row, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column0;
    for (var i = asked.begin0 + i32(lane); i < asked.stop0; i += 256) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[0u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 256 < asked.stop0) {
        column = block_columns[asked.layout0 * params.columns + u32(i + 256)];
      }
    }
  }
  {
    let last = i32(min(min(first_row + 1u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column1;
    for (var i = asked.begin1 + i32(lane); i < asked.stop1; i += 256) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[1u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 256 < asked.stop1) {
        column = block_columns[asked.layout1 * params.columns + u32(i + 256)];
      }
    }
  }
  {
    let last = i32(min(min(first_row + 2u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column2;
    for (var i = asked.begin2 + i32(lane); i < asked.stop2; i += 256) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[2u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 256 < asked.stop2) {
        column = block_columns[asked.layout2 * params.columns + u32(i + 256)];
      }
    }
  }
  {
    let last = i32(min(min(first_row + 3u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column3;
    for (var i = asked.begin3 + i32(lane); i < asked.stop3; i += 256) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[3u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 256 < asked.stop3) {
        column = block_columns[asked.layout3 * params.columns + u32(i + 256)];
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
      entry |= ((atomicLoad(&live_bits[2u + mine]) >> bit) & 1u) << 26u;
      entry |= ((atomicLoad(&live_bits[3u + mine]) >> bit) & 1u) << 27u;
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


// A slice of the queries and one of the keys; or the weights of a tile and a step of its values.
var<workgroup> staged: array<vec4<f32>, 1216>;
var<workgroup> row_parts: array<f32, 1088>;

fn vector_of_query(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(query[2u * octet + vector]);
}
fn vector_of_past_key(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(past_key[2u * octet + vector]);
}
fn vector_of_past_value(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(past_value[2u * octet + vector]);
}

// The first octet of key `key` of the window's list, from the start of the head in the cache; kNowhere beyond `keys` (without branches).
fn key_octet(key: u32, keys: u32, cache_head: u32) -> u32 {
  let position = live_block(live_list[key / 16u % 32u]) * 16u + key % 16u;
  return select(kNowhere, cache_head + position * 1u, key < keys);
}

@compute @workgroup_size(256)
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
  let cache_head = (item * 2u + kv_head) * params.capacity * 1u;
  let block_row = base / 16u;
  let x = lane % 16u;
  let y = lane / 16u;

  let slice_row0 = (lane + 0u) / 8u % 64u;
  let slice_vector0 = (lane + 0u) % 8u;
  // Products of rows and keys that are none are never read.
  let query_at0 = select(0u, (((item * params.sequence + base + slice_row0 % 64u - past) * 2u + first_head + slice_row0 / 64u) * 1u), slice_row0 % 64u + base >= first && slice_row0 % 64u + base < last);
  var key_at0: u32;
  var next_query0: vec4<f32>;
  var next_key0: vec4<f32>;
  let slice_row1 = (lane + 256u) / 8u % 64u;
  let slice_vector1 = (lane + 256u) % 8u;
  // Products of rows and keys that are none are never read.
  let query_at1 = select(0u, (((item * params.sequence + base + slice_row1 % 64u - past) * 2u + first_head + slice_row1 / 64u) * 1u), slice_row1 % 64u + base >= first && slice_row1 % 64u + base < last);
  var key_at1: u32;
  var next_query1: vec4<f32>;
  var next_key1: vec4<f32>;
  var next_value0: vec4<f32>;
  var value_counts0 = false;

  let position0 = base + (y + 0u) % 64u;
  var row_max0 = kUnset;
  var row_sum0 = 0.0;
  var o0_0 = vec4<f32>();
  let position1 = base + (y + 16u) % 64u;
  var row_max1 = kUnset;
  var row_sum1 = 0.0;
  var o1_0 = vec4<f32>();
  let position2 = base + (y + 32u) % 64u;
  var row_max2 = kUnset;
  var row_sum2 = 0.0;
  var o2_0 = vec4<f32>();
  let position3 = base + (y + 48u) % 64u;
  var row_max3 = kUnset;
  var row_sum3 = 0.0;
  var o3_0 = vec4<f32>();

  let windows = select(min((max(end, 1u) - 1u) / 16u, params.blocks - 1u) / 32u + 1u, 0u, first >= end);
  // Counted down: Tint proves such loops finite; to others safe mode adds a counter of 64 bits.
  for (var left = windows; left > 0u; left--) {
    let window = windows - left;
    let keys = list_live_blocks(lane, first_head, block_row, window * 32u, end);
    let tiles = (keys + 63u) / 64u;
      key_at0 = key_octet((0u) * 64u + slice_row0, keys, cache_head);
      key_at0 = select(key_at0, 0u, key_at0 == kNowhere);
      key_at1 = key_octet((0u) * 64u + slice_row1, keys, cache_head);
      key_at1 = select(key_at1, 0u, key_at1 == kNowhere);
      {
        let vector = 0u + slice_vector0;
        let within = min(vector, 1u);
        next_query0 = vector_of_query(query_at0, within);
        next_key0 = vector_of_past_key(key_at0, within);
      }
      {
        let vector = 0u + slice_vector1;
        let within = min(vector, 1u);
        next_query1 = vector_of_query(query_at1, within);
        next_key1 = vector_of_past_key(key_at1, within);
      }
for (var more = tiles; more > 0u; more--) {
      let tile = tiles - more;
      var s0_0 = 0.0;
      var s0_1 = 0.0;
      var s0_2 = 0.0;
      var s0_3 = 0.0;
      var s1_0 = 0.0;
      var s1_1 = 0.0;
      var s1_2 = 0.0;
      var s1_3 = 0.0;
      var s2_0 = 0.0;
      var s2_1 = 0.0;
      var s2_2 = 0.0;
      var s2_3 = 0.0;
      var s3_0 = 0.0;
      var s3_1 = 0.0;
      var s3_2 = 0.0;
      var s3_3 = 0.0;
      workgroupBarrier();
      {
        let fits = vec4<bool>(0u + slice_vector0 < 2u);
        next_query0 = select(vec4<f32>(), next_query0, fits);
        next_key0 = select(vec4<f32>(), next_key0, fits);
        staged[slice_row0 * 9u + slice_vector0] = next_query0;
        staged[576u + (slice_row0 % 4u * 16u + slice_row0 / 4u) * 9u + slice_vector0] = next_key0;
      }
      {
        let fits = vec4<bool>(0u + slice_vector1 < 2u);
        next_query1 = select(vec4<f32>(), next_query1, fits);
        next_key1 = select(vec4<f32>(), next_key1, fits);
        staged[slice_row1 * 9u + slice_vector1] = next_query1;
        staged[576u + (slice_row1 % 4u * 16u + slice_row1 / 4u) * 9u + slice_vector1] = next_key1;
      }
workgroupBarrier();
      {
        let row = (lane + 0u) / 8u;
        let vector = (lane + 0u) % 8u;
        let at = key_octet((tile) * 64u + 0u + row, keys, cache_head);
        value_counts0 = at != kNowhere && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, at, value_counts0), select(0u, vector, value_counts0));
      }
      for (var turn = 0u; turn < 2u; turn++) {
        {
          let vector = turn * 4u + 0u;
          let q0 = staged[(y + 0u) * 9u + vector];
          let q1 = staged[(y + 16u) * 9u + vector];
          let q2 = staged[(y + 32u) * 9u + vector];
          let q3 = staged[(y + 48u) * 9u + vector];
          let k0 = staged[576u + (x + 0u) * 9u + vector];
          let k1 = staged[576u + (x + 16u) * 9u + vector];
          let k2 = staged[576u + (x + 32u) * 9u + vector];
          let k3 = staged[576u + (x + 48u) * 9u + vector];
          s0_0 = fma(q0.x, k0.x, s0_0);
          s0_1 = fma(q0.x, k1.x, s0_1);
          s0_2 = fma(q0.x, k2.x, s0_2);
          s0_3 = fma(q0.x, k3.x, s0_3);
          s1_0 = fma(q1.x, k0.x, s1_0);
          s1_1 = fma(q1.x, k1.x, s1_1);
          s1_2 = fma(q1.x, k2.x, s1_2);
          s1_3 = fma(q1.x, k3.x, s1_3);
          s2_0 = fma(q2.x, k0.x, s2_0);
          s2_1 = fma(q2.x, k1.x, s2_1);
          s2_2 = fma(q2.x, k2.x, s2_2);
          s2_3 = fma(q2.x, k3.x, s2_3);
          s3_0 = fma(q3.x, k0.x, s3_0);
          s3_1 = fma(q3.x, k1.x, s3_1);
          s3_2 = fma(q3.x, k2.x, s3_2);
          s3_3 = fma(q3.x, k3.x, s3_3);
          s0_0 = fma(q0.y, k0.y, s0_0);
          s0_1 = fma(q0.y, k1.y, s0_1);
          s0_2 = fma(q0.y, k2.y, s0_2);
          s0_3 = fma(q0.y, k3.y, s0_3);
          s1_0 = fma(q1.y, k0.y, s1_0);
          s1_1 = fma(q1.y, k1.y, s1_1);
          s1_2 = fma(q1.y, k2.y, s1_2);
          s1_3 = fma(q1.y, k3.y, s1_3);
          s2_0 = fma(q2.y, k0.y, s2_0);
          s2_1 = fma(q2.y, k1.y, s2_1);
          s2_2 = fma(q2.y, k2.y, s2_2);
          s2_3 = fma(q2.y, k3.y, s2_3);
          s3_0 = fma(q3.y, k0.y, s3_0);
          s3_1 = fma(q3.y, k1.y, s3_1);
          s3_2 = fma(q3.y, k2.y, s3_2);
          s3_3 = fma(q3.y, k3.y, s3_3);
          s0_0 = fma(q0.z, k0.z, s0_0);
          s0_1 = fma(q0.z, k1.z, s0_1);
          s0_2 = fma(q0.z, k2.z, s0_2);
          s0_3 = fma(q0.z, k3.z, s0_3);
          s1_0 = fma(q1.z, k0.z, s1_0);
          s1_1 = fma(q1.z, k1.z, s1_1);
          s1_2 = fma(q1.z, k2.z, s1_2);
          s1_3 = fma(q1.z, k3.z, s1_3);
          s2_0 = fma(q2.z, k0.z, s2_0);
          s2_1 = fma(q2.z, k1.z, s2_1);
          s2_2 = fma(q2.z, k2.z, s2_2);
          s2_3 = fma(q2.z, k3.z, s2_3);
          s3_0 = fma(q3.z, k0.z, s3_0);
          s3_1 = fma(q3.z, k1.z, s3_1);
          s3_2 = fma(q3.z, k2.z, s3_2);
          s3_3 = fma(q3.z, k3.z, s3_3);
          s0_0 = fma(q0.w, k0.w, s0_0);
          s0_1 = fma(q0.w, k1.w, s0_1);
          s0_2 = fma(q0.w, k2.w, s0_2);
          s0_3 = fma(q0.w, k3.w, s0_3);
          s1_0 = fma(q1.w, k0.w, s1_0);
          s1_1 = fma(q1.w, k1.w, s1_1);
          s1_2 = fma(q1.w, k2.w, s1_2);
          s1_3 = fma(q1.w, k3.w, s1_3);
          s2_0 = fma(q2.w, k0.w, s2_0);
          s2_1 = fma(q2.w, k1.w, s2_1);
          s2_2 = fma(q2.w, k2.w, s2_2);
          s2_3 = fma(q2.w, k3.w, s2_3);
          s3_0 = fma(q3.w, k0.w, s3_0);
          s3_1 = fma(q3.w, k1.w, s3_1);
          s3_2 = fma(q3.w, k2.w, s3_2);
          s3_3 = fma(q3.w, k3.w, s3_3);
        }
        {
          let vector = turn * 4u + 1u;
          let q0 = staged[(y + 0u) * 9u + vector];
          let q1 = staged[(y + 16u) * 9u + vector];
          let q2 = staged[(y + 32u) * 9u + vector];
          let q3 = staged[(y + 48u) * 9u + vector];
          let k0 = staged[576u + (x + 0u) * 9u + vector];
          let k1 = staged[576u + (x + 16u) * 9u + vector];
          let k2 = staged[576u + (x + 32u) * 9u + vector];
          let k3 = staged[576u + (x + 48u) * 9u + vector];
          s0_0 = fma(q0.x, k0.x, s0_0);
          s0_1 = fma(q0.x, k1.x, s0_1);
          s0_2 = fma(q0.x, k2.x, s0_2);
          s0_3 = fma(q0.x, k3.x, s0_3);
          s1_0 = fma(q1.x, k0.x, s1_0);
          s1_1 = fma(q1.x, k1.x, s1_1);
          s1_2 = fma(q1.x, k2.x, s1_2);
          s1_3 = fma(q1.x, k3.x, s1_3);
          s2_0 = fma(q2.x, k0.x, s2_0);
          s2_1 = fma(q2.x, k1.x, s2_1);
          s2_2 = fma(q2.x, k2.x, s2_2);
          s2_3 = fma(q2.x, k3.x, s2_3);
          s3_0 = fma(q3.x, k0.x, s3_0);
          s3_1 = fma(q3.x, k1.x, s3_1);
          s3_2 = fma(q3.x, k2.x, s3_2);
          s3_3 = fma(q3.x, k3.x, s3_3);
          s0_0 = fma(q0.y, k0.y, s0_0);
          s0_1 = fma(q0.y, k1.y, s0_1);
          s0_2 = fma(q0.y, k2.y, s0_2);
          s0_3 = fma(q0.y, k3.y, s0_3);
          s1_0 = fma(q1.y, k0.y, s1_0);
          s1_1 = fma(q1.y, k1.y, s1_1);
          s1_2 = fma(q1.y, k2.y, s1_2);
          s1_3 = fma(q1.y, k3.y, s1_3);
          s2_0 = fma(q2.y, k0.y, s2_0);
          s2_1 = fma(q2.y, k1.y, s2_1);
          s2_2 = fma(q2.y, k2.y, s2_2);
          s2_3 = fma(q2.y, k3.y, s2_3);
          s3_0 = fma(q3.y, k0.y, s3_0);
          s3_1 = fma(q3.y, k1.y, s3_1);
          s3_2 = fma(q3.y, k2.y, s3_2);
          s3_3 = fma(q3.y, k3.y, s3_3);
          s0_0 = fma(q0.z, k0.z, s0_0);
          s0_1 = fma(q0.z, k1.z, s0_1);
          s0_2 = fma(q0.z, k2.z, s0_2);
          s0_3 = fma(q0.z, k3.z, s0_3);
          s1_0 = fma(q1.z, k0.z, s1_0);
          s1_1 = fma(q1.z, k1.z, s1_1);
          s1_2 = fma(q1.z, k2.z, s1_2);
          s1_3 = fma(q1.z, k3.z, s1_3);
          s2_0 = fma(q2.z, k0.z, s2_0);
          s2_1 = fma(q2.z, k1.z, s2_1);
          s2_2 = fma(q2.z, k2.z, s2_2);
          s2_3 = fma(q2.z, k3.z, s2_3);
          s3_0 = fma(q3.z, k0.z, s3_0);
          s3_1 = fma(q3.z, k1.z, s3_1);
          s3_2 = fma(q3.z, k2.z, s3_2);
          s3_3 = fma(q3.z, k3.z, s3_3);
          s0_0 = fma(q0.w, k0.w, s0_0);
          s0_1 = fma(q0.w, k1.w, s0_1);
          s0_2 = fma(q0.w, k2.w, s0_2);
          s0_3 = fma(q0.w, k3.w, s0_3);
          s1_0 = fma(q1.w, k0.w, s1_0);
          s1_1 = fma(q1.w, k1.w, s1_1);
          s1_2 = fma(q1.w, k2.w, s1_2);
          s1_3 = fma(q1.w, k3.w, s1_3);
          s2_0 = fma(q2.w, k0.w, s2_0);
          s2_1 = fma(q2.w, k1.w, s2_1);
          s2_2 = fma(q2.w, k2.w, s2_2);
          s2_3 = fma(q2.w, k3.w, s2_3);
          s3_0 = fma(q3.w, k0.w, s3_0);
          s3_1 = fma(q3.w, k1.w, s3_1);
          s3_2 = fma(q3.w, k2.w, s3_2);
          s3_3 = fma(q3.w, k3.w, s3_3);
        }
        {
          let vector = turn * 4u + 2u;
          let q0 = staged[(y + 0u) * 9u + vector];
          let q1 = staged[(y + 16u) * 9u + vector];
          let q2 = staged[(y + 32u) * 9u + vector];
          let q3 = staged[(y + 48u) * 9u + vector];
          let k0 = staged[576u + (x + 0u) * 9u + vector];
          let k1 = staged[576u + (x + 16u) * 9u + vector];
          let k2 = staged[576u + (x + 32u) * 9u + vector];
          let k3 = staged[576u + (x + 48u) * 9u + vector];
          s0_0 = fma(q0.x, k0.x, s0_0);
          s0_1 = fma(q0.x, k1.x, s0_1);
          s0_2 = fma(q0.x, k2.x, s0_2);
          s0_3 = fma(q0.x, k3.x, s0_3);
          s1_0 = fma(q1.x, k0.x, s1_0);
          s1_1 = fma(q1.x, k1.x, s1_1);
          s1_2 = fma(q1.x, k2.x, s1_2);
          s1_3 = fma(q1.x, k3.x, s1_3);
          s2_0 = fma(q2.x, k0.x, s2_0);
          s2_1 = fma(q2.x, k1.x, s2_1);
          s2_2 = fma(q2.x, k2.x, s2_2);
          s2_3 = fma(q2.x, k3.x, s2_3);
          s3_0 = fma(q3.x, k0.x, s3_0);
          s3_1 = fma(q3.x, k1.x, s3_1);
          s3_2 = fma(q3.x, k2.x, s3_2);
          s3_3 = fma(q3.x, k3.x, s3_3);
          s0_0 = fma(q0.y, k0.y, s0_0);
          s0_1 = fma(q0.y, k1.y, s0_1);
          s0_2 = fma(q0.y, k2.y, s0_2);
          s0_3 = fma(q0.y, k3.y, s0_3);
          s1_0 = fma(q1.y, k0.y, s1_0);
          s1_1 = fma(q1.y, k1.y, s1_1);
          s1_2 = fma(q1.y, k2.y, s1_2);
          s1_3 = fma(q1.y, k3.y, s1_3);
          s2_0 = fma(q2.y, k0.y, s2_0);
          s2_1 = fma(q2.y, k1.y, s2_1);
          s2_2 = fma(q2.y, k2.y, s2_2);
          s2_3 = fma(q2.y, k3.y, s2_3);
          s3_0 = fma(q3.y, k0.y, s3_0);
          s3_1 = fma(q3.y, k1.y, s3_1);
          s3_2 = fma(q3.y, k2.y, s3_2);
          s3_3 = fma(q3.y, k3.y, s3_3);
          s0_0 = fma(q0.z, k0.z, s0_0);
          s0_1 = fma(q0.z, k1.z, s0_1);
          s0_2 = fma(q0.z, k2.z, s0_2);
          s0_3 = fma(q0.z, k3.z, s0_3);
          s1_0 = fma(q1.z, k0.z, s1_0);
          s1_1 = fma(q1.z, k1.z, s1_1);
          s1_2 = fma(q1.z, k2.z, s1_2);
          s1_3 = fma(q1.z, k3.z, s1_3);
          s2_0 = fma(q2.z, k0.z, s2_0);
          s2_1 = fma(q2.z, k1.z, s2_1);
          s2_2 = fma(q2.z, k2.z, s2_2);
          s2_3 = fma(q2.z, k3.z, s2_3);
          s3_0 = fma(q3.z, k0.z, s3_0);
          s3_1 = fma(q3.z, k1.z, s3_1);
          s3_2 = fma(q3.z, k2.z, s3_2);
          s3_3 = fma(q3.z, k3.z, s3_3);
          s0_0 = fma(q0.w, k0.w, s0_0);
          s0_1 = fma(q0.w, k1.w, s0_1);
          s0_2 = fma(q0.w, k2.w, s0_2);
          s0_3 = fma(q0.w, k3.w, s0_3);
          s1_0 = fma(q1.w, k0.w, s1_0);
          s1_1 = fma(q1.w, k1.w, s1_1);
          s1_2 = fma(q1.w, k2.w, s1_2);
          s1_3 = fma(q1.w, k3.w, s1_3);
          s2_0 = fma(q2.w, k0.w, s2_0);
          s2_1 = fma(q2.w, k1.w, s2_1);
          s2_2 = fma(q2.w, k2.w, s2_2);
          s2_3 = fma(q2.w, k3.w, s2_3);
          s3_0 = fma(q3.w, k0.w, s3_0);
          s3_1 = fma(q3.w, k1.w, s3_1);
          s3_2 = fma(q3.w, k2.w, s3_2);
          s3_3 = fma(q3.w, k3.w, s3_3);
        }
        {
          let vector = turn * 4u + 3u;
          let q0 = staged[(y + 0u) * 9u + vector];
          let q1 = staged[(y + 16u) * 9u + vector];
          let q2 = staged[(y + 32u) * 9u + vector];
          let q3 = staged[(y + 48u) * 9u + vector];
          let k0 = staged[576u + (x + 0u) * 9u + vector];
          let k1 = staged[576u + (x + 16u) * 9u + vector];
          let k2 = staged[576u + (x + 32u) * 9u + vector];
          let k3 = staged[576u + (x + 48u) * 9u + vector];
          s0_0 = fma(q0.x, k0.x, s0_0);
          s0_1 = fma(q0.x, k1.x, s0_1);
          s0_2 = fma(q0.x, k2.x, s0_2);
          s0_3 = fma(q0.x, k3.x, s0_3);
          s1_0 = fma(q1.x, k0.x, s1_0);
          s1_1 = fma(q1.x, k1.x, s1_1);
          s1_2 = fma(q1.x, k2.x, s1_2);
          s1_3 = fma(q1.x, k3.x, s1_3);
          s2_0 = fma(q2.x, k0.x, s2_0);
          s2_1 = fma(q2.x, k1.x, s2_1);
          s2_2 = fma(q2.x, k2.x, s2_2);
          s2_3 = fma(q2.x, k3.x, s2_3);
          s3_0 = fma(q3.x, k0.x, s3_0);
          s3_1 = fma(q3.x, k1.x, s3_1);
          s3_2 = fma(q3.x, k2.x, s3_2);
          s3_3 = fma(q3.x, k3.x, s3_3);
          s0_0 = fma(q0.y, k0.y, s0_0);
          s0_1 = fma(q0.y, k1.y, s0_1);
          s0_2 = fma(q0.y, k2.y, s0_2);
          s0_3 = fma(q0.y, k3.y, s0_3);
          s1_0 = fma(q1.y, k0.y, s1_0);
          s1_1 = fma(q1.y, k1.y, s1_1);
          s1_2 = fma(q1.y, k2.y, s1_2);
          s1_3 = fma(q1.y, k3.y, s1_3);
          s2_0 = fma(q2.y, k0.y, s2_0);
          s2_1 = fma(q2.y, k1.y, s2_1);
          s2_2 = fma(q2.y, k2.y, s2_2);
          s2_3 = fma(q2.y, k3.y, s2_3);
          s3_0 = fma(q3.y, k0.y, s3_0);
          s3_1 = fma(q3.y, k1.y, s3_1);
          s3_2 = fma(q3.y, k2.y, s3_2);
          s3_3 = fma(q3.y, k3.y, s3_3);
          s0_0 = fma(q0.z, k0.z, s0_0);
          s0_1 = fma(q0.z, k1.z, s0_1);
          s0_2 = fma(q0.z, k2.z, s0_2);
          s0_3 = fma(q0.z, k3.z, s0_3);
          s1_0 = fma(q1.z, k0.z, s1_0);
          s1_1 = fma(q1.z, k1.z, s1_1);
          s1_2 = fma(q1.z, k2.z, s1_2);
          s1_3 = fma(q1.z, k3.z, s1_3);
          s2_0 = fma(q2.z, k0.z, s2_0);
          s2_1 = fma(q2.z, k1.z, s2_1);
          s2_2 = fma(q2.z, k2.z, s2_2);
          s2_3 = fma(q2.z, k3.z, s2_3);
          s3_0 = fma(q3.z, k0.z, s3_0);
          s3_1 = fma(q3.z, k1.z, s3_1);
          s3_2 = fma(q3.z, k2.z, s3_2);
          s3_3 = fma(q3.z, k3.z, s3_3);
          s0_0 = fma(q0.w, k0.w, s0_0);
          s0_1 = fma(q0.w, k1.w, s0_1);
          s0_2 = fma(q0.w, k2.w, s0_2);
          s0_3 = fma(q0.w, k3.w, s0_3);
          s1_0 = fma(q1.w, k0.w, s1_0);
          s1_1 = fma(q1.w, k1.w, s1_1);
          s1_2 = fma(q1.w, k2.w, s1_2);
          s1_3 = fma(q1.w, k3.w, s1_3);
          s2_0 = fma(q2.w, k0.w, s2_0);
          s2_1 = fma(q2.w, k1.w, s2_1);
          s2_2 = fma(q2.w, k2.w, s2_2);
          s2_3 = fma(q2.w, k3.w, s2_3);
          s3_0 = fma(q3.w, k0.w, s3_0);
          s3_1 = fma(q3.w, k1.w, s3_1);
          s3_2 = fma(q3.w, k2.w, s3_2);
          s3_3 = fma(q3.w, k3.w, s3_3);
        }
      }

      var w0 = vec4<f32>(s0_0, s0_1, s0_2, s0_3) * params.scale;
      var w1 = vec4<f32>(s1_0, s1_1, s1_2, s1_3) * params.scale;
      var w2 = vec4<f32>(s2_0, s2_1, s2_2, s2_3) * params.scale;
      var w3 = vec4<f32>(s3_0, s3_1, s3_2, s3_3) * params.scale;
      // The four keys of this lane are of one block. Most tiles lie left of the diagonal and are live for all rows.
      {
        let key = tile * 64u + x * 4u;
        let entry = live_list[key / 16u % 32u];
        let start = live_block(entry) * 16u + key % 16u;
        if (key + 4u > keys || start + 3u > base || (entry >> 24u) != 15u) {
          let present = select(0u, keys - key, key < keys);
          {
            let limit = min(position0 + 1u, end);
            let allowed = select(0u, min(max(limit, start) - start, present), live_for(entry, (y + 0u) / 64u * 4u + (y + 0u) % 64u / 16u));
            w0 = select(vec4<f32>(2.0 * kUnset), w0, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
          }
          {
            let limit = min(position1 + 1u, end);
            let allowed = select(0u, min(max(limit, start) - start, present), live_for(entry, (y + 16u) / 64u * 4u + (y + 16u) % 64u / 16u));
            w1 = select(vec4<f32>(2.0 * kUnset), w1, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
          }
          {
            let limit = min(position2 + 1u, end);
            let allowed = select(0u, min(max(limit, start) - start, present), live_for(entry, (y + 32u) / 64u * 4u + (y + 32u) % 64u / 16u));
            w2 = select(vec4<f32>(2.0 * kUnset), w2, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
          }
          {
            let limit = min(position3 + 1u, end);
            let allowed = select(0u, min(max(limit, start) - start, present), live_for(entry, (y + 48u) / 64u * 4u + (y + 48u) % 64u / 16u));
            w3 = select(vec4<f32>(2.0 * kUnset), w3, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
          }
        }
      }
      var top0 = max(max(w0.x, w0.y), max(w0.z, w0.w));
      var top1 = max(max(w1.x, w1.y), max(w1.z, w1.w));
      var top2 = max(max(w2.x, w2.y), max(w2.z, w2.w));
      var top3 = max(max(w3.x, w3.y), max(w3.z, w3.w));
      row_parts[(y + 0u) * 17u + x] = top0;
      row_parts[(y + 16u) * 17u + x] = top1;
      row_parts[(y + 32u) * 17u + x] = top2;
      row_parts[(y + 48u) * 17u + x] = top3;
      workgroupBarrier();
      for (var other = 0u; other < 16u; other++) {
        top0 = max(top0, row_parts[(y + 0u) * 17u + other]);
        top1 = max(top1, row_parts[(y + 16u) * 17u + other]);
        top2 = max(top2, row_parts[(y + 32u) * 17u + other]);
        top3 = max(top3, row_parts[(y + 48u) * 17u + other]);
      }
      {
        let top = max(row_max0, top0);
        let factor = exp2(row_max0 - top);
        row_max0 = top;
        w0 = exp2(w0 - top);
        row_sum0 = row_sum0 * factor + ((w0.x + w0.y) + (w0.z + w0.w));
        o0_0 *= factor;
      }
      {
        let top = max(row_max1, top1);
        let factor = exp2(row_max1 - top);
        row_max1 = top;
        w1 = exp2(w1 - top);
        row_sum1 = row_sum1 * factor + ((w1.x + w1.y) + (w1.z + w1.w));
        o1_0 *= factor;
      }
      {
        let top = max(row_max2, top2);
        let factor = exp2(row_max2 - top);
        row_max2 = top;
        w2 = exp2(w2 - top);
        row_sum2 = row_sum2 * factor + ((w2.x + w2.y) + (w2.z + w2.w));
        o2_0 *= factor;
      }
      {
        let top = max(row_max3, top3);
        let factor = exp2(row_max3 - top);
        row_max3 = top;
        w3 = exp2(w3 - top);
        row_sum3 = row_sum3 * factor + ((w3.x + w3.y) + (w3.z + w3.w));
        o3_0 *= factor;
      }
      workgroupBarrier();
      staged[(y + 0u) * 17u + x] = w0;
      staged[(y + 16u) * 17u + x] = w1;
      staged[(y + 32u) * 17u + x] = w2;
      staged[(y + 48u) * 17u + x] = w3;
      if (lane + 0u < 128u) {
        staged[1088u + lane] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
workgroupBarrier();
      {
        let row = (lane + 0u) / 8u;
        let vector = (lane + 0u) % 8u;
        let at = key_octet((tile) * 64u + 16u + row, keys, cache_head);
        value_counts0 = at != kNowhere && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, at, value_counts0), select(0u, vector, value_counts0));
      }
      for (var k = 0u; k < 4u; k++) {
        let p0 = staged[(y + 0u) * 17u + 0u + k];
        let p1 = staged[(y + 16u) * 17u + 0u + k];
        let p2 = staged[(y + 32u) * 17u + 0u + k];
        let p3 = staged[(y + 48u) * 17u + 0u + k];
        {
          let at = 1088u + min(x + 0u, 7u) + k * 32u;
          let v0 = staged[at + 0u];
          let v1 = staged[at + 8u];
          let v2 = staged[at + 16u];
          let v3 = staged[at + 24u];
          o0_0 = fma(v0, vec4<f32>(p0[0]), o0_0);
          o1_0 = fma(v0, vec4<f32>(p1[0]), o1_0);
          o2_0 = fma(v0, vec4<f32>(p2[0]), o2_0);
          o3_0 = fma(v0, vec4<f32>(p3[0]), o3_0);
          o0_0 = fma(v1, vec4<f32>(p0[1]), o0_0);
          o1_0 = fma(v1, vec4<f32>(p1[1]), o1_0);
          o2_0 = fma(v1, vec4<f32>(p2[1]), o2_0);
          o3_0 = fma(v1, vec4<f32>(p3[1]), o3_0);
          o0_0 = fma(v2, vec4<f32>(p0[2]), o0_0);
          o1_0 = fma(v2, vec4<f32>(p1[2]), o1_0);
          o2_0 = fma(v2, vec4<f32>(p2[2]), o2_0);
          o3_0 = fma(v2, vec4<f32>(p3[2]), o3_0);
          o0_0 = fma(v3, vec4<f32>(p0[3]), o0_0);
          o1_0 = fma(v3, vec4<f32>(p1[3]), o1_0);
          o2_0 = fma(v3, vec4<f32>(p2[3]), o2_0);
          o3_0 = fma(v3, vec4<f32>(p3[3]), o3_0);
        }
      }
      workgroupBarrier();
      if (lane + 0u < 128u) {
        staged[1088u + lane] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
workgroupBarrier();
      {
        let row = (lane + 0u) / 8u;
        let vector = (lane + 0u) % 8u;
        let at = key_octet((tile) * 64u + 32u + row, keys, cache_head);
        value_counts0 = at != kNowhere && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, at, value_counts0), select(0u, vector, value_counts0));
      }
      for (var k = 0u; k < 4u; k++) {
        let p0 = staged[(y + 0u) * 17u + 4u + k];
        let p1 = staged[(y + 16u) * 17u + 4u + k];
        let p2 = staged[(y + 32u) * 17u + 4u + k];
        let p3 = staged[(y + 48u) * 17u + 4u + k];
        {
          let at = 1088u + min(x + 0u, 7u) + k * 32u;
          let v0 = staged[at + 0u];
          let v1 = staged[at + 8u];
          let v2 = staged[at + 16u];
          let v3 = staged[at + 24u];
          o0_0 = fma(v0, vec4<f32>(p0[0]), o0_0);
          o1_0 = fma(v0, vec4<f32>(p1[0]), o1_0);
          o2_0 = fma(v0, vec4<f32>(p2[0]), o2_0);
          o3_0 = fma(v0, vec4<f32>(p3[0]), o3_0);
          o0_0 = fma(v1, vec4<f32>(p0[1]), o0_0);
          o1_0 = fma(v1, vec4<f32>(p1[1]), o1_0);
          o2_0 = fma(v1, vec4<f32>(p2[1]), o2_0);
          o3_0 = fma(v1, vec4<f32>(p3[1]), o3_0);
          o0_0 = fma(v2, vec4<f32>(p0[2]), o0_0);
          o1_0 = fma(v2, vec4<f32>(p1[2]), o1_0);
          o2_0 = fma(v2, vec4<f32>(p2[2]), o2_0);
          o3_0 = fma(v2, vec4<f32>(p3[2]), o3_0);
          o0_0 = fma(v3, vec4<f32>(p0[3]), o0_0);
          o1_0 = fma(v3, vec4<f32>(p1[3]), o1_0);
          o2_0 = fma(v3, vec4<f32>(p2[3]), o2_0);
          o3_0 = fma(v3, vec4<f32>(p3[3]), o3_0);
        }
      }
      workgroupBarrier();
      if (lane + 0u < 128u) {
        staged[1088u + lane] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
workgroupBarrier();
      {
        let row = (lane + 0u) / 8u;
        let vector = (lane + 0u) % 8u;
        let at = key_octet((tile) * 64u + 48u + row, keys, cache_head);
        value_counts0 = at != kNowhere && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, at, value_counts0), select(0u, vector, value_counts0));
      }
      for (var k = 0u; k < 4u; k++) {
        let p0 = staged[(y + 0u) * 17u + 8u + k];
        let p1 = staged[(y + 16u) * 17u + 8u + k];
        let p2 = staged[(y + 32u) * 17u + 8u + k];
        let p3 = staged[(y + 48u) * 17u + 8u + k];
        {
          let at = 1088u + min(x + 0u, 7u) + k * 32u;
          let v0 = staged[at + 0u];
          let v1 = staged[at + 8u];
          let v2 = staged[at + 16u];
          let v3 = staged[at + 24u];
          o0_0 = fma(v0, vec4<f32>(p0[0]), o0_0);
          o1_0 = fma(v0, vec4<f32>(p1[0]), o1_0);
          o2_0 = fma(v0, vec4<f32>(p2[0]), o2_0);
          o3_0 = fma(v0, vec4<f32>(p3[0]), o3_0);
          o0_0 = fma(v1, vec4<f32>(p0[1]), o0_0);
          o1_0 = fma(v1, vec4<f32>(p1[1]), o1_0);
          o2_0 = fma(v1, vec4<f32>(p2[1]), o2_0);
          o3_0 = fma(v1, vec4<f32>(p3[1]), o3_0);
          o0_0 = fma(v2, vec4<f32>(p0[2]), o0_0);
          o1_0 = fma(v2, vec4<f32>(p1[2]), o1_0);
          o2_0 = fma(v2, vec4<f32>(p2[2]), o2_0);
          o3_0 = fma(v2, vec4<f32>(p3[2]), o3_0);
          o0_0 = fma(v3, vec4<f32>(p0[3]), o0_0);
          o1_0 = fma(v3, vec4<f32>(p1[3]), o1_0);
          o2_0 = fma(v3, vec4<f32>(p2[3]), o2_0);
          o3_0 = fma(v3, vec4<f32>(p3[3]), o3_0);
        }
      }
      workgroupBarrier();
      if (lane + 0u < 128u) {
        staged[1088u + lane] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
workgroupBarrier();
      key_at0 = key_octet((tile + 1u) * 64u + slice_row0, keys, cache_head);
      key_at0 = select(key_at0, 0u, key_at0 == kNowhere);
      key_at1 = key_octet((tile + 1u) * 64u + slice_row1, keys, cache_head);
      key_at1 = select(key_at1, 0u, key_at1 == kNowhere);
      {
        let vector = 0u + slice_vector0;
        let within = min(vector, 1u);
        next_query0 = vector_of_query(query_at0, within);
        next_key0 = vector_of_past_key(key_at0, within);
      }
      {
        let vector = 0u + slice_vector1;
        let within = min(vector, 1u);
        next_query1 = vector_of_query(query_at1, within);
        next_key1 = vector_of_past_key(key_at1, within);
      }
      for (var k = 0u; k < 4u; k++) {
        let p0 = staged[(y + 0u) * 17u + 12u + k];
        let p1 = staged[(y + 16u) * 17u + 12u + k];
        let p2 = staged[(y + 32u) * 17u + 12u + k];
        let p3 = staged[(y + 48u) * 17u + 12u + k];
        {
          let at = 1088u + min(x + 0u, 7u) + k * 32u;
          let v0 = staged[at + 0u];
          let v1 = staged[at + 8u];
          let v2 = staged[at + 16u];
          let v3 = staged[at + 24u];
          o0_0 = fma(v0, vec4<f32>(p0[0]), o0_0);
          o1_0 = fma(v0, vec4<f32>(p1[0]), o1_0);
          o2_0 = fma(v0, vec4<f32>(p2[0]), o2_0);
          o3_0 = fma(v0, vec4<f32>(p3[0]), o3_0);
          o0_0 = fma(v1, vec4<f32>(p0[1]), o0_0);
          o1_0 = fma(v1, vec4<f32>(p1[1]), o1_0);
          o2_0 = fma(v1, vec4<f32>(p2[1]), o2_0);
          o3_0 = fma(v1, vec4<f32>(p3[1]), o3_0);
          o0_0 = fma(v2, vec4<f32>(p0[2]), o0_0);
          o1_0 = fma(v2, vec4<f32>(p1[2]), o1_0);
          o2_0 = fma(v2, vec4<f32>(p2[2]), o2_0);
          o3_0 = fma(v2, vec4<f32>(p3[2]), o3_0);
          o0_0 = fma(v3, vec4<f32>(p0[3]), o0_0);
          o1_0 = fma(v3, vec4<f32>(p1[3]), o1_0);
          o2_0 = fma(v3, vec4<f32>(p2[3]), o2_0);
          o3_0 = fma(v3, vec4<f32>(p3[3]), o3_0);
        }
      }
    }
    workgroupBarrier();
  }

  row_parts[(y + 0u) * 17u + x] = row_sum0;
  row_sum0 = 0.0;
  row_parts[(y + 16u) * 17u + x] = row_sum1;
  row_sum1 = 0.0;
  row_parts[(y + 32u) * 17u + x] = row_sum2;
  row_sum2 = 0.0;
  row_parts[(y + 48u) * 17u + x] = row_sum3;
  row_sum3 = 0.0;
  workgroupBarrier();
  for (var other = 0u; other < 16u; other++) {
    row_sum0 += row_parts[(y + 0u) * 17u + other];
    row_sum1 += row_parts[(y + 16u) * 17u + other];
    row_sum2 += row_parts[(y + 32u) * 17u + other];
    row_sum3 += row_parts[(y + 48u) * 17u + other];
  }
  {
    let out_row = y + 0u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = select(0.0, 1.0 / row_sum0, row_sum0 > 0.0);
      if (x + 0u < 2u) {
        let value = o0_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 16u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = select(0.0, 1.0 / row_sum1, row_sum1 > 0.0);
      if (x + 0u < 2u) {
        let value = o1_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 32u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = select(0.0, 1.0 / row_sum2, row_sum2 > 0.0);
      if (x + 0u < 2u) {
        let value = o2_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 48u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = select(0.0, 1.0 / row_sum3, row_sum3 > 0.0);
      if (x + 0u < 2u) {
        let value = o3_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
}
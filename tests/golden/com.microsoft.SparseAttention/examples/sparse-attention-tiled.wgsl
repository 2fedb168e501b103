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
  for (var i = lane; i < 4u; i += 128u) {
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
  {
    let last = i32(min(min(first_row + 2u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column2;
    for (var i = asked.begin2 + i32(lane); i < asked.stop2; i += 128) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[2u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 128 < asked.stop2) {
        column = block_columns[asked.layout2 * params.columns + u32(i + 128)];
      }
    }
  }
  {
    let last = i32(min(min(first_row + 3u, params.blocks - 1u), (end - 1u) / 16u));
    var column = asked.column3;
    for (var i = asked.begin3 + i32(lane); i < asked.stop3; i += 128) {
      if (column >= i32(start) && column <= last && column < i32(start + 32u)) {
        let bit = u32(column) - start;
        atomicOr(&live_bits[3u + bit / 32u], 1u << (bit % 32u));
      }
      if (i + 128 < asked.stop3) {
        column = block_columns[asked.layout3 * params.columns + u32(i + 128)];
      }
    }
  }
  workgroupBarrier();
  for (var block = lane; block < 32u; block += 128u) {
    let mine = block / 32u;
    let bit = block % 32u;
    let bits = listed_bits(mine);
    if (((bits >> bit) & 1u) != 0u) {
      var ordinal = countOneBits(bits & ((1u << bit) - 1u));
      for (var word = 0u; word < mine; word++) {
        ordinal += countOneBits(listed_bits(word));
      }
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


// A slice of the queries and one of the keys, or a step of the values.
var<workgroup> staged: array<vec4<f32>, 640>;
var<workgroup> weights: array<vec4<f32>, 1088>;
var<workgroup> row_factor: array<f32, 64>;

fn vector_of_query(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(query[2u * octet + vector]);
}
fn vector_of_past_key(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(past_key[2u * octet + vector]);
}
fn vector_of_past_value(octet: u32, vector: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(past_value[2u * octet + vector]);
}

fn key_position(key: u32, keys: u32) -> u32 {
  if (key >= keys) {
    return 0xffffffffu;
  }
  return live_block(live_list[key / 16u]) * 16u + key % 16u;
}

@compute @workgroup_size(128)
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

  var next_query0: vec4<f32>;
  var next_key0: vec4<f32>;
  var next_query1: vec4<f32>;
  var next_key1: vec4<f32>;
  var next_value0: vec4<f32>;
  var value_counts0 = false;

  var o0_0 = vec4<f32>();
  var o1_0 = vec4<f32>();
  var o2_0 = vec4<f32>();
  var o3_0 = vec4<f32>();
  var o4_0 = vec4<f32>();
  var o5_0 = vec4<f32>();
  var o6_0 = vec4<f32>();
  var o7_0 = vec4<f32>();
  // The softmax has 2 lanes a row.
  let row = lane / 2u;
  let row_part = lane % 2u;
  let position = base + row % 64u;
  let source = row / 64u * 4u + row % 64u / 16u;
  let exists = row % 64u + base >= first && row % 64u + base < last;
  var row_max = kUnset;
  var row_sum = 0.0;

  let windows = select(min((max(end, 1u) - 1u) / 16u, params.blocks - 1u) / 32u + 1u, 0u, first >= end);
  for (var window = 0u; window < windows; window++) {
    let keys = list_live_blocks(lane, first_head, block_row, window * 32u, end);
    let tiles = (keys + 63u) / 64u;
    if (tiles > 0u) {
      {
        let row = (lane + 0u) / 4u;
        let vector = (0u) * 4u + (lane + 0u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query0 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((0u) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key0 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
      {
        let row = (lane + 128u) / 4u;
        let vector = (0u) * 4u + (lane + 128u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query1 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((0u) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key1 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
}
    for (var tile = 0u; tile < tiles; tile++) {
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
      var s4_0 = 0.0;
      var s4_1 = 0.0;
      var s4_2 = 0.0;
      var s4_3 = 0.0;
      var s5_0 = 0.0;
      var s5_1 = 0.0;
      var s5_2 = 0.0;
      var s5_3 = 0.0;
      var s6_0 = 0.0;
      var s6_1 = 0.0;
      var s6_2 = 0.0;
      var s6_3 = 0.0;
      var s7_0 = 0.0;
      var s7_1 = 0.0;
      var s7_2 = 0.0;
      var s7_3 = 0.0;
      for (var slice = 0u; slice < 1u; slice++) {
        workgroupBarrier();
        {
          let staged_row = (lane + 0u) / 4u;
          let vector = (lane + 0u) % 4u;
          {
            let fits = vec4<bool>(slice * 4u + vector < 2u);
            next_query0 = select(vec4<f32>(), next_query0, fits);
            next_key0 = select(vec4<f32>(), next_key0, fits);
            staged[staged_row * 5u + vector] = next_query0;
            staged[320u + (staged_row % 4u * 16u + staged_row / 4u) * 5u + vector] = next_key0;
          }
        }
        {
          let staged_row = (lane + 128u) / 4u;
          let vector = (lane + 128u) % 4u;
          {
            let fits = vec4<bool>(slice * 4u + vector < 2u);
            next_query1 = select(vec4<f32>(), next_query1, fits);
            next_key1 = select(vec4<f32>(), next_key1, fits);
            staged[staged_row * 5u + vector] = next_query1;
            staged[320u + (staged_row % 4u * 16u + staged_row / 4u) * 5u + vector] = next_key1;
          }
        }
        workgroupBarrier();
        if (slice + 1u < 1u) {
      {
        let row = (lane + 0u) / 4u;
        let vector = (slice + 1u) * 4u + (lane + 0u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query0 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((tile) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key0 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
      {
        let row = (lane + 128u) / 4u;
        let vector = (slice + 1u) * 4u + (lane + 128u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query1 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((tile) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key1 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
} else {
      {
        let row = (lane + 0u) / 4u;
        let vector = (lane + 0u) % 4u;
        let key_at = key_position((tile) * 64u + (0u) * 16u + row, keys);
        value_counts0 = key_at < end && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, cache_head + key_at * 1u, value_counts0), select(0u, vector, value_counts0));
      }
}
        for (var vector = 0u; vector < 4u; vector++) {
          let q0 = staged[(y + 0u) * 5u + vector];
          let q1 = staged[(y + 8u) * 5u + vector];
          let q2 = staged[(y + 16u) * 5u + vector];
          let q3 = staged[(y + 24u) * 5u + vector];
          let q4 = staged[(y + 32u) * 5u + vector];
          let q5 = staged[(y + 40u) * 5u + vector];
          let q6 = staged[(y + 48u) * 5u + vector];
          let q7 = staged[(y + 56u) * 5u + vector];
          let k0 = staged[320u + (x + 0u) * 5u + vector];
          let k1 = staged[320u + (x + 16u) * 5u + vector];
          let k2 = staged[320u + (x + 32u) * 5u + vector];
          let k3 = staged[320u + (x + 48u) * 5u + vector];
          s0_0 += dot(q0, k0);
          s0_1 += dot(q0, k1);
          s0_2 += dot(q0, k2);
          s0_3 += dot(q0, k3);
          s1_0 += dot(q1, k0);
          s1_1 += dot(q1, k1);
          s1_2 += dot(q1, k2);
          s1_3 += dot(q1, k3);
          s2_0 += dot(q2, k0);
          s2_1 += dot(q2, k1);
          s2_2 += dot(q2, k2);
          s2_3 += dot(q2, k3);
          s3_0 += dot(q3, k0);
          s3_1 += dot(q3, k1);
          s3_2 += dot(q3, k2);
          s3_3 += dot(q3, k3);
          s4_0 += dot(q4, k0);
          s4_1 += dot(q4, k1);
          s4_2 += dot(q4, k2);
          s4_3 += dot(q4, k3);
          s5_0 += dot(q5, k0);
          s5_1 += dot(q5, k1);
          s5_2 += dot(q5, k2);
          s5_3 += dot(q5, k3);
          s6_0 += dot(q6, k0);
          s6_1 += dot(q6, k1);
          s6_2 += dot(q6, k2);
          s6_3 += dot(q6, k3);
          s7_0 += dot(q7, k0);
          s7_1 += dot(q7, k1);
          s7_2 += dot(q7, k2);
          s7_3 += dot(q7, k3);
        }
      }
      weights[(y + 0u) * 17u + x] = vec4<f32>(s0_0, s0_1, s0_2, s0_3) * params.scale;
      weights[(y + 8u) * 17u + x] = vec4<f32>(s1_0, s1_1, s1_2, s1_3) * params.scale;
      weights[(y + 16u) * 17u + x] = vec4<f32>(s2_0, s2_1, s2_2, s2_3) * params.scale;
      weights[(y + 24u) * 17u + x] = vec4<f32>(s3_0, s3_1, s3_2, s3_3) * params.scale;
      weights[(y + 32u) * 17u + x] = vec4<f32>(s4_0, s4_1, s4_2, s4_3) * params.scale;
      weights[(y + 40u) * 17u + x] = vec4<f32>(s5_0, s5_1, s5_2, s5_3) * params.scale;
      weights[(y + 48u) * 17u + x] = vec4<f32>(s6_0, s6_1, s6_2, s6_3) * params.scale;
      weights[(y + 56u) * 17u + x] = vec4<f32>(s7_0, s7_1, s7_2, s7_3) * params.scale;
      workgroupBarrier();
      if (lane + 0u < 64u) {
        staged[lane + 0u] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
      {
        let row = (lane + 0u) / 4u;
        let vector = (lane + 0u) % 4u;
        let key_at = key_position((tile) * 64u + (1u) * 16u + row, keys);
        value_counts0 = key_at < end && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, cache_head + key_at * 1u, value_counts0), select(0u, vector, value_counts0));
      }
      // Lane part p of a row has the vectors p, p + 2, p + 4 and on of it.
      var top = row_max;
      var w0 = weights[row * 17u + row_part + 0u];
      {
        let key = tile * 64u + (row_part + 0u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w0 = select(vec4<f32>(2.0 * kUnset), w0, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w0.x, w0.y), max(w0.z, w0.w)));
      }
      var w1 = weights[row * 17u + row_part + 2u];
      {
        let key = tile * 64u + (row_part + 2u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w1 = select(vec4<f32>(2.0 * kUnset), w1, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w1.x, w1.y), max(w1.z, w1.w)));
      }
      var w2 = weights[row * 17u + row_part + 4u];
      {
        let key = tile * 64u + (row_part + 4u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w2 = select(vec4<f32>(2.0 * kUnset), w2, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w2.x, w2.y), max(w2.z, w2.w)));
      }
      var w3 = weights[row * 17u + row_part + 6u];
      {
        let key = tile * 64u + (row_part + 6u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w3 = select(vec4<f32>(2.0 * kUnset), w3, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w3.x, w3.y), max(w3.z, w3.w)));
      }
      var w4 = weights[row * 17u + row_part + 8u];
      {
        let key = tile * 64u + (row_part + 8u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w4 = select(vec4<f32>(2.0 * kUnset), w4, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w4.x, w4.y), max(w4.z, w4.w)));
      }
      var w5 = weights[row * 17u + row_part + 10u];
      {
        let key = tile * 64u + (row_part + 10u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w5 = select(vec4<f32>(2.0 * kUnset), w5, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w5.x, w5.y), max(w5.z, w5.w)));
      }
      var w6 = weights[row * 17u + row_part + 12u];
      {
        let key = tile * 64u + (row_part + 12u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w6 = select(vec4<f32>(2.0 * kUnset), w6, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w6.x, w6.y), max(w6.z, w6.w)));
      }
      var w7 = weights[row * 17u + row_part + 14u];
      {
        let key = tile * 64u + (row_part + 14u) * 4u;
        var allowed = 0u;
        if (exists && key < keys) {
          let entry = live_list[key / 16u];
          if (live_for(entry, source)) {
            let start = live_block(entry) * 16u + key % 16u;
            let limit = min(position + 1u, end);
            allowed = max(limit, start) - start;
          }
        }
        w7 = select(vec4<f32>(2.0 * kUnset), w7, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(allowed));
        top = max(top, max(max(w7.x, w7.y), max(w7.z, w7.w)));
      }
      top = max(top, subgroupShuffleXor(top, 1u));
      let factor = exp2(row_max - top);
      row_max = top;
      w0 = exp2(w0 - top);
      weights[row * 17u + row_part + 0u] = w0;
      w1 = exp2(w1 - top);
      weights[row * 17u + row_part + 2u] = w1;
      w2 = exp2(w2 - top);
      weights[row * 17u + row_part + 4u] = w2;
      w3 = exp2(w3 - top);
      weights[row * 17u + row_part + 6u] = w3;
      w4 = exp2(w4 - top);
      weights[row * 17u + row_part + 8u] = w4;
      w5 = exp2(w5 - top);
      weights[row * 17u + row_part + 10u] = w5;
      w6 = exp2(w6 - top);
      weights[row * 17u + row_part + 12u] = w6;
      w7 = exp2(w7 - top);
      weights[row * 17u + row_part + 14u] = w7;
      let sum4 = (w0 + w1) + (w2 + w3) + (w4 + w5) + (w6 + w7);
      row_sum = row_sum * factor + (sum4.x + sum4.y) + (sum4.z + sum4.w);
      if (row_part == 0u) {
        row_factor[row] = factor;
      }
      workgroupBarrier();
      {
        let row_scale = row_factor[y + 0u];
        o0_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 8u];
        o1_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 16u];
        o2_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 24u];
        o3_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 32u];
        o4_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 40u];
        o5_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 48u];
        o6_0 *= row_scale;
      }
      {
        let row_scale = row_factor[y + 56u];
        o7_0 *= row_scale;
      }
      for (var step = 0u; step < 4u; step++) {
        for (var k = 0u; k < 4u; k++) {
          let p0 = weights[(y + 0u) * 17u + step * 4u + k];
          let p1 = weights[(y + 8u) * 17u + step * 4u + k];
          let p2 = weights[(y + 16u) * 17u + step * 4u + k];
          let p3 = weights[(y + 24u) * 17u + step * 4u + k];
          let p4 = weights[(y + 32u) * 17u + step * 4u + k];
          let p5 = weights[(y + 40u) * 17u + step * 4u + k];
          let p6 = weights[(y + 48u) * 17u + step * 4u + k];
          let p7 = weights[(y + 56u) * 17u + step * 4u + k];
          {
            let at = min(x + 0u, 3u) + k * 16u;
            let v0 = staged[at + 0u];
            let v1 = staged[at + 4u];
            let v2 = staged[at + 8u];
            let v3 = staged[at + 12u];
            o0_0 += v0 * p0.x + v1 * p0.y + v2 * p0.z + v3 * p0.w;
            o1_0 += v0 * p1.x + v1 * p1.y + v2 * p1.z + v3 * p1.w;
            o2_0 += v0 * p2.x + v1 * p2.y + v2 * p2.z + v3 * p2.w;
            o3_0 += v0 * p3.x + v1 * p3.y + v2 * p3.z + v3 * p3.w;
            o4_0 += v0 * p4.x + v1 * p4.y + v2 * p4.z + v3 * p4.w;
            o5_0 += v0 * p5.x + v1 * p5.y + v2 * p5.z + v3 * p5.w;
            o6_0 += v0 * p6.x + v1 * p6.y + v2 * p6.z + v3 * p6.w;
            o7_0 += v0 * p7.x + v1 * p7.y + v2 * p7.z + v3 * p7.w;
          }
        }
        if (step + 1u < 4u) {
          workgroupBarrier();
      if (lane + 0u < 64u) {
        staged[lane + 0u] = select(vec4<f32>(), next_value0, vec4<bool>(value_counts0));
      }
if (step + 2u < 4u) {
      {
        let row = (lane + 0u) / 4u;
        let vector = (lane + 0u) % 4u;
        let key_at = key_position((tile) * 64u + (step + 2u) * 16u + row, keys);
        value_counts0 = key_at < end && vector < 2u && row < 16u;
        next_value0 = vector_of_past_value(select(0u, cache_head + key_at * 1u, value_counts0), select(0u, vector, value_counts0));
      }
}
          workgroupBarrier();
        }
      }
      if (tile + 1u < tiles) {
      {
        let row = (lane + 0u) / 4u;
        let vector = (0u) * 4u + (lane + 0u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query0 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((tile + 1u) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key0 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
      {
        let row = (lane + 128u) / 4u;
        let vector = (0u) * 4u + (lane + 128u) % 4u;
        // Without branches, so that no load waits for another. Products of rows and keys that are none are never read.
        let fits = vector < 2u;
        let real = fits && row % 64u + base >= first && row % 64u + base < last;
        next_query1 = vector_of_query(select(0u, (((item * params.sequence + base + row % 64u - past) * 2u + first_head + row / 64u) * 1u), real), select(0u, vector, real));
        let key_at = key_position((tile + 1u) * 64u + row, keys);
        let listed = fits && key_at < end;
        next_key1 = vector_of_past_key(select(0u, cache_head + key_at * 1u, listed), select(0u, vector, listed));
      }
}
    }
    workgroupBarrier();
  }

  row_sum += subgroupShuffleXor(row_sum, 1u);
  if (row_part == 0u) {
    row_factor[row] = select(0.0, 1.0 / row_sum, row_sum > 0.0);
  }
  workgroupBarrier();
  {
    let out_row = y + 0u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o0_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 8u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o1_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 16u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o2_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 24u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o3_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 32u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o4_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 40u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o5_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 48u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o6_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
  {
    let out_row = y + 56u;
    if (out_row % 64u + base >= first && out_row % 64u + base < last) {
      let inverse = row_factor[out_row];
      if (x + 0u < 2u) {
        let value = o7_0 * inverse;
        output[2u * (((item * params.sequence + base + out_row % 64u - past) * 2u + first_head + out_row / 64u) * 1u) + x + 0u] = bitcast<vec4<u32>>(value);
      }
    }
  }
}
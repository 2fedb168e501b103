enable subgroups;
fn part0(v: vec4<f32>) -> vec4<f32> {
  return v;
}

fn stored(a: vec4<f32>) -> vec4<f32> {
  return a;
}

fn added(v: vec4<f32>) -> f32 {
  return (v.x + v.y) + (v.z + v.w);
}
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gamma: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> board: array<atomic<u32>>;

var<workgroup> slots: array<vec4<f32>, 8>;

fn slice_sum(value: f32, subgroup: u32) -> f32 {
  let part = subgroupAdd(value);
  if (subgroupElect()) {
    slots[subgroup / 4u][subgroup % 4u] = part;
  }
  workgroupBarrier();
  let all = slots[0] + slots[1] + slots[2] + slots[3] + slots[4] + slots[5] + slots[6] + slots[7];
  return (all.x + all.y) + (all.z + all.w);
}

// What a subgroup found on the board: the first slice without a sum (their number when none is missing), and the sum of all.
struct Found {
  missing: u32,
  sum: f32,
}
var<workgroup> found: Found;

const width = 32768u;
const epsilon = f32(0.00001);
// A row's words: a sum for each slice (a sum is not negative; its sign bit says that it is there) and, in a memory line of its own, how many workgroups
// have read them.
const row_words = 64u;
const counter = 32u;
const there = 0x80000000u;

@compute @workgroup_size(1024)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let start = group.y * width;
  let words = group.y * row_words;
  let first_subgroup = subgroup == 0u;
  let own0 = group.x * 1024u + lane + 0u;
  let gamma0 = gamma[own0];
  var s00 = vec4<f32>();
  var slice = group.x;
  var square_sum = 0.0;
  // A turn for each slice that could be missing, and one to come back to the own slice. A slice can seem to be missing once more after its turn:
  // nothing orders the word that one lane stores before those that another lane loads. So there are far more turns than slices.
  for (var turn = 0u; turn < 256u; turn++) {
    let first = slice * 1024u + lane;
    let i0 = first + 0u;
    let x0 = x[start + i0];
    let skip0 = skip[start + i0];
    var squares = vec4<f32>();
    s00 = part0(x0) + part0(skip0);
    squares += s00 * s00;
    let sum = slice_sum(added(squares), subgroup);
    if (first_subgroup && subgroup_lane == 0u) {
      atomicStore(&board[words + slice], bitcast<u32>(sum) | there);
    }

    var word0 = 0u;
    if (first_subgroup) {
      // Who has waited in vain once waits no more.
      for (var look = select(126u, 0u, turn == 0u); look < 128u; look++) {
        word0 = atomicLoad(&board[words + subgroup_lane + 0u]);
        if (word0 != 0u) {
          break;
        }
      }
    }
    var lacking = 32u;
    var part_sum = 0.0;
    lacking = select(lacking, min(subgroup_lane + 0u, 31u), word0 == 0u);
    part_sum += bitcast<f32>(word0 & ~there);
    let all_sums = subgroupAdd(part_sum);
    let first_missing = subgroupMin(lacking);
    if (first_subgroup && subgroup_lane == 0u) {
      found = Found(first_missing, all_sums);
    }
    let seen = workgroupUniformLoad(&found);
    square_sum = seen.sum;
    if (seen.missing == 32u && slice == group.x) {
      break;
    }
    slice = select(seen.missing, group.x, seen.missing == 32u);
  }

  // Who is the last to have read the row's words leaves them zero for the next dispatch.
  var readers = 0u;
  if (first_subgroup && subgroup_lane == 0u) {
    readers = atomicAdd(&board[words + counter], 1u) + 1u;
  }
  let inverse = inverseSqrt(square_sum / 131072.0 + epsilon);
{ y[start + own0] = stored(s00 * inverse * part0(gamma0)); }
  if (subgroupMax(readers) == 32u && first_subgroup) {
{ atomicStore(&board[words + subgroup_lane + 0u], 0u); }
    if (subgroup_lane == 0u) { atomicStore(&board[words + counter], 0u); }
  }
}
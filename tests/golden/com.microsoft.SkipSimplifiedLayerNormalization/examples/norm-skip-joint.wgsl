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

var<workgroup> slots: array<f32, 16>;

// What a subgroup found on the board: the first slice without a sum (their number when none is missing), and the sum of all.
struct Found {
  missing: u32,
  sum: f32,
}
var<workgroup> found: Found;

const width = 32768u;
const slices = 64u;
const epsilon = f32(0.00001);
// The board: for each workgroup of a row, in memory lines of its own, a word from each. What is written is a sum (it is not negative; its sign bit says that
// it is there) or, by a reader that waits no longer, `gone`. A reader takes the word and leaves zero; a writer that finds `gone` leaves zero itself.
const line_words = 64u;
const there = 0x80000000u;
const gone = 1u;

@compute @workgroup_size(512)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_id) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let start = group.y * width;
  let row_words = group.y * slices * line_words;
  let first_subgroup = subgroup == 0u;
  let own0 = group.x * 512u + lane + 0u;
  let gamma0 = gamma[own0];
  var s00 = vec4<f32>();
  var slice = group.x;
  var square_sum = 0.0;
  var word0 = 0u;
  var replaced0 = 0u;
  var word1 = 0u;
  var replaced1 = 0u;
  // The own slice, then those of which no sum came, and the own one again.
  for (var turn = 0u; turn < slices + 2u; turn++) {
    let first = slice * 512u + lane;
    let i0 = first + 0u;
    let x0 = x[start + i0];
    let skip0 = skip[start + i0];
    var squares = vec4<f32>();
    s00 = part0(x0) + part0(skip0);
    squares += s00 * s00;
    let part_sum = subgroupAdd(added(squares));
    if (subgroupElect()) {
      slots[subgroup] = part_sum;
    }
    workgroupBarrier();
    if (first_subgroup) {
      // Pairwise, so that few additions wait for each other.
      var sum0 = slots[0];
      var sum1 = slots[1];
      var sum2 = slots[2];
      var sum3 = slots[3];
      var sum4 = slots[4];
      var sum5 = slots[5];
      var sum6 = slots[6];
      var sum7 = slots[7];
      var sum8 = slots[8];
      var sum9 = slots[9];
      var sum10 = slots[10];
      var sum11 = slots[11];
      var sum12 = slots[12];
      var sum13 = slots[13];
      var sum14 = slots[14];
      var sum15 = slots[15];
      sum0 += sum1;
      sum2 += sum3;
      sum4 += sum5;
      sum6 += sum7;
      sum8 += sum9;
      sum10 += sum11;
      sum12 += sum13;
      sum14 += sum15;
      sum0 += sum2;
      sum4 += sum6;
      sum8 += sum10;
      sum12 += sum14;
      sum0 += sum4;
      sum8 += sum12;
      sum0 += sum8;
      let sum_word = bitcast<u32>(sum0) | there;
      if (turn > 0u) {
        word0 = select(word0, sum_word, subgroup_lane + 0u == slice);
        word1 = select(word1, sum_word, subgroup_lane + 32u == slice);
      } else {
        { replaced0 = atomicExchange(&board[row_words + (subgroup_lane + 0u) * line_words + slice], sum_word); }
        { replaced1 = atomicExchange(&board[row_words + (subgroup_lane + 32u) * line_words + slice], sum_word); }
      }
    }

    if (first_subgroup && turn == 0u) {
      let mine = row_words + slice * line_words + subgroup_lane;
      for (var look = 0u; look < 128u; look++) {
        word0 = atomicLoad(&board[mine + 0u]);
        word1 = atomicLoad(&board[mine + 32u]);
        if (word0 != 0u && word1 != 0u) {
          break;
        }
      }
      {
        if (word0 == 0u) {
          word0 = atomicExchange(&board[mine + 0u], gone);
        }
        if (word0 != 0u) {
          atomicStore(&board[mine + 0u], 0u);
        }
        if (replaced0 == gone) {
          atomicStore(&board[row_words + (subgroup_lane + 0u) * line_words + slice], 0u);
        }
      }
      {
        if (word1 == 0u) {
          word1 = atomicExchange(&board[mine + 32u], gone);
        }
        if (word1 != 0u) {
          atomicStore(&board[mine + 32u], 0u);
        }
        if (replaced1 == gone) {
          atomicStore(&board[row_words + (subgroup_lane + 32u) * line_words + slice], 0u);
        }
      }
    }
    var lacking = slices;
    var words_sum = 0.0;
    lacking = select(lacking, subgroup_lane + 32u, word1 == 0u);
    lacking = select(lacking, subgroup_lane + 0u, word0 == 0u);
    words_sum += bitcast<f32>(word0 & ~there);
    words_sum += bitcast<f32>(word1 & ~there);
    let all_sums = subgroupAdd(words_sum);
    let first_missing = subgroupMin(lacking);
    if (first_subgroup && subgroup_lane == 0u) {
      found = Found(first_missing, all_sums);
    }
    let seen = workgroupUniformLoad(&found);
    square_sum = seen.sum;
    if (seen.missing == slices && slice == group.x) {
      break;
    }
    slice = select(seen.missing, group.x, seen.missing == slices);
  }

  let inverse = inverseSqrt(square_sum / 131072.0 + epsilon);
{ y[start + own0] = stored(s00 * inverse * part0(gamma0)); }
}
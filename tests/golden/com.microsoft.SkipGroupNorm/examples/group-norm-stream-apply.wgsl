struct Params { zero: u32, jobs: u32, images: u32, runs: u32, rows: u32, blocks: u32, blocksPerRun: u32, imageVectors: u32, entries: u32, epsilon: f32, _pad0: u32, _pad1: u32 };
@group(0) @binding(0) var<storage, read> S: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> gamma: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> beta: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> moments: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> Y: array<vec4<f32>>;
@group(0) @binding(6) var<uniform> params: Params;
alias Packed = vec4<f32>;

fn part0(p: Packed) -> vec4<f32> {
  return p;
}

fn pack(v0: vec4<f32>) -> Packed {
  return v0;
}


// The mean of a cell as a value that compilers cannot take apart again (the last operand is zero, always): what (y - (y + z)) + z leaves of the cell
// itself is what the sum had to round off, but some take it for zero.
fn mean_of(cell: vec4<f32>) -> f32 {
  return bitcast<f32>(bitcast<u32>(cell.y + cell.z) ^ params.zero);
}

// (count, count times mean, squares), the latter two from the pivot. As explicit fma, so that no compiler has a choice.
fn add_cell(total: vec3<f32>, cell: vec4<f32>, pivot: f32) -> vec3<f32> {
  let apart = (cell.y - pivot) + cell.z;
  return vec3<f32>(total.x + cell.x, fma(cell.x, apart, total.y), fma(cell.x * apart, apart, total.z + cell.w));
}

// A cell of what the walk found.
fn partial_of(total: vec3<f32>, pivot: f32) -> vec4<f32> {
  let rest = total.y / max(total.x, 1.0);
  return vec4<f32>(total.x, pivot, rest, max(fma(-total.y, rest, total.z), 0.0));
}

// What the normalization needs of a group: (a value near its mean, mean from that value, reciprocal standard deviation).
fn constants_of(total: vec3<f32>, pivot: f32, epsilon: f32) -> vec4<f32> {
  let all = partial_of(total, pivot);
  return vec4<f32>(pivot, all.z, inverseSqrt(all.w / max(total.x, 1.0) + epsilon), 0.0);
}
// One, always.
fn one() -> f32 {
  return 1.0 + f32(params.zero);
}

fn silu(y: vec4<f32>) -> vec4<f32> {
  return y * (1.0 / (1.0 + exp(-y)));
}

var<workgroup> cells: array<vec4<f32>, 8>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let slab = workgroup.x;
  let run = params.runs - 1u - workgroup.y;
  let image = params.images - 1u - workgroup.z;
  let batch = image;
  let firstGroup = slab * 160u / 20u;
  let place = lane / 8u;
  let column0 = slab * 40u + lane % 8u;
  const own0 = true;
  let column1 = slab * 40u + lane % 8u + 8u;
  const own1 = true;
  let column2 = slab * 40u + lane % 8u + 16u;
  const own2 = true;
  let column3 = slab * 40u + lane % 8u + 24u;
  const own3 = true;
  let column4 = slab * 40u + lane % 8u + 32u;
  const own4 = true;

  let base = image * params.imageVectors;
  let end = base + params.imageVectors;
  // From the last block to the first: the statistics read that one last. Only the very last of an image may be short.
  let firstBlock = run * params.blocksPerRun;
  var block = min(firstBlock + params.blocksPerRun, params.blocks) - 1u;
  const blockStep = 1u;
  let stride = blockStep * 40u;
  var index = base + (block * 1u + place) * 40u + column0;
  // The first block is on its way while the moments are merged; a place behind the end reads the last vector instead.
  let at0 = min(index + 0u, end - 1u);
  let s0 = S[at0];
  let at1 = min(index + 0u + 8u, end - 1u);
  let s1 = S[at1];
  let at2 = min(index + 0u + 16u, end - 1u);
  let s2 = S[at2];
  let at3 = min(index + 0u + 24u, end - 1u);
  let s3 = S[at3];
  let at4 = min(index + 0u + 32u, end - 1u);
  let s4 = S[at4];
  let gammaWord0 = gamma[column0];
  let gamma0 = vec4<f32>(unpack2x16float(gammaWord0.x), unpack2x16float(gammaWord0.y));
  let gammaWord1 = gamma[column1];
  let gamma1 = vec4<f32>(unpack2x16float(gammaWord1.x), unpack2x16float(gammaWord1.y));
  let gammaWord2 = gamma[column2];
  let gamma2 = vec4<f32>(unpack2x16float(gammaWord2.x), unpack2x16float(gammaWord2.y));
  let gammaWord3 = gamma[column3];
  let gamma3 = vec4<f32>(unpack2x16float(gammaWord3.x), unpack2x16float(gammaWord3.y));
  let gammaWord4 = gamma[column4];
  let gamma4 = vec4<f32>(unpack2x16float(gammaWord4.x), unpack2x16float(gammaWord4.y));

  let betaWord0 = beta[column0];
  let beta0 = vec4<f32>(unpack2x16float(betaWord0.x), unpack2x16float(betaWord0.y));
  let betaWord1 = beta[column1];
  let beta1 = vec4<f32>(unpack2x16float(betaWord1.x), unpack2x16float(betaWord1.y));
  let betaWord2 = beta[column2];
  let beta2 = vec4<f32>(unpack2x16float(betaWord2.x), unpack2x16float(betaWord2.y));
  let betaWord3 = beta[column3];
  let beta3 = vec4<f32>(unpack2x16float(betaWord3.x), unpack2x16float(betaWord3.y));
  let betaWord4 = beta[column4];
  let beta4 = vec4<f32>(unpack2x16float(betaWord4.x), unpack2x16float(betaWord4.y));


  for (var slot = lane; slot < 8u; slot += 8u) {
    let group = firstGroup + slot;
    let live = slot < 8u && group < 8u;
    let from0 = (batch * 8u + select(0u, group, live)) * params.entries;
    let head = partials[from0];
    let pivot = mean_of(head);
    var total = vec3<f32>();
    for (var i = lane % 1u; i < params.entries; i += 1u) {
      total = add_cell(total, partials[from0 + i], pivot);
    }

    let acc = constants_of(total, pivot, params.epsilon);
    if (lane % 1u == 0u && slot < 8u) {
      cells[slot] = acc;
    }
  }
  workgroupBarrier();
  let g0 = cells[(lane % 8u) / 5u];
  let mean0 = vec4<f32>(g0.x);
  let scale0 = gamma0 * vec4<f32>(g0.z);
  let offset0 = fma(vec4<f32>(-g0.y), scale0, beta0);
  let g1 = cells[((lane % 8u + 8u)) / 5u];
  let mean1 = vec4<f32>(g1.x);
  let scale1 = gamma1 * vec4<f32>(g1.z);
  let offset1 = fma(vec4<f32>(-g1.y), scale1, beta1);
  let g2 = cells[((lane % 8u + 16u)) / 5u];
  let mean2 = vec4<f32>(g2.x);
  let scale2 = gamma2 * vec4<f32>(g2.z);
  let offset2 = fma(vec4<f32>(-g2.y), scale2, beta2);
  let g3 = cells[((lane % 8u + 24u)) / 5u];
  let mean3 = vec4<f32>(g3.x);
  let scale3 = gamma3 * vec4<f32>(g3.z);
  let offset3 = fma(vec4<f32>(-g3.y), scale3, beta3);
  let g4 = cells[((lane % 8u + 32u)) / 5u];
  let mean4 = vec4<f32>(g4.x);
  let scale4 = gamma4 * vec4<f32>(g4.z);
  let offset4 = fma(vec4<f32>(-g4.y), scale4, beta4);

    if (block * 1u + place + 0u < params.rows && index + 0u < end) {
      Y[index + 0u] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
    }
    if (block * 1u + place + 0u < params.rows && index + 0u + 8u < end) {
      Y[index + 0u + 8u] = pack(silu(fma(part0(s1) - mean1, scale1, offset1)));
    }
    if (block * 1u + place + 0u < params.rows && index + 0u + 16u < end) {
      Y[index + 0u + 16u] = pack(silu(fma(part0(s2) - mean2, scale2, offset2)));
    }
    if (block * 1u + place + 0u < params.rows && index + 0u + 24u < end) {
      Y[index + 0u + 24u] = pack(silu(fma(part0(s3) - mean3, scale3, offset3)));
    }
    if (block * 1u + place + 0u < params.rows && index + 0u + 32u < end) {
      Y[index + 0u + 32u] = pack(silu(fma(part0(s4) - mean4, scale4, offset4)));
    }

  // The others, which are whole, from the first one on.
  let last = block;
  index = base + (firstBlock * 1u + place) * 40u + column0;
  for (block = firstBlock; block < last; block++) {
    let s0 = S[index + 0u];
    Y[index + 0u] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
    let s1 = S[index + 0u + 8u];
    Y[index + 0u + 8u] = pack(silu(fma(part0(s1) - mean1, scale1, offset1)));
    let s2 = S[index + 0u + 16u];
    Y[index + 0u + 16u] = pack(silu(fma(part0(s2) - mean2, scale2, offset2)));
    let s3 = S[index + 0u + 24u];
    Y[index + 0u + 24u] = pack(silu(fma(part0(s3) - mean3, scale3, offset3)));
    let s4 = S[index + 0u + 32u];
    Y[index + 0u + 32u] = pack(silu(fma(part0(s4) - mean4, scale4, offset4)));
    index += stride;
  }
}
struct Params { zero: u32, jobs: u32, runs: u32, rows: u32, blocksPerRun: u32, imageVectors: u32, entries: u32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> X: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> S: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(5) var<uniform> params: Params;
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


var<workgroup> cells: array<vec4<f32>, 40>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let slab = workgroup.x;
  let run = workgroup.y;
  let image = workgroup.z;
  let batch = image;
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
  var pivot0 = vec4<f32>();
  var rest0 = vec4<f32>();
  var squares0 = vec4<f32>();
  var pivot1 = vec4<f32>();
  var rest1 = vec4<f32>();
  var squares1 = vec4<f32>();
  var pivot2 = vec4<f32>();
  var rest2 = vec4<f32>();
  var squares2 = vec4<f32>();
  var pivot3 = vec4<f32>();
  var rest3 = vec4<f32>();
  var squares3 = vec4<f32>();
  var pivot4 = vec4<f32>();
  var rest4 = vec4<f32>();
  var squares4 = vec4<f32>();
  let biasWord0 = bias[column0];
  let bias0 = biasWord0;
  let biasWord1 = bias[column1];
  let bias1 = biasWord1;
  let biasWord2 = bias[column2];
  let bias2 = biasWord2;
  let biasWord3 = bias[column3];
  let bias3 = biasWord3;
  let biasWord4 = bias[column4];
  let bias4 = biasWord4;

  let skipWord0 = skip[batch * 40u + column0];
  let skip0 = skipWord0;
  let skipWord1 = skip[batch * 40u + column1];
  let skip1 = skipWord1;
  let skipWord2 = skip[batch * 40u + column2];
  let skip2 = skipWord2;
  let skipWord3 = skip[batch * 40u + column3];
  let skip3 = skipWord3;
  let skipWord4 = skip[batch * 40u + column4];
  let skip4 = skipWord4;


  // Whole blocks of 1 rows per lane. The blocks of a lane are equal in size, so the weights of the merge follow from the block number.
  let wholeBlocks = min(params.rows, params.imageVectors / 40u) / 1u;
  let firstBlock = run * params.blocksPerRun;
  let blocks = min(params.blocksPerRun, max(wholeBlocks, firstBlock) - firstBlock);
  const blockStep = 1u;
  let restRow = (firstBlock + blocks * blockStep) * 1u;
  let stride = blockStep * 40u;
  var index = base + (firstBlock * 1u + place) * 40u + column0;
  let end = base + params.imageVectors;
  let holdsRest = restRow < params.rows && blocks < params.blocksPerRun;
  // A software adapter keeps what a lane holds in memory, and pays for each branch: pivots first, then one column after the other.
  if (blocks > 0u) {
    let x0 = X[index];

    let s0 = pack(fma(fma(part0(x0), vec4<f32>(one()), skip0), vec4<f32>(one()), bias0));

    pivot0 = part0(s0);
    let x1 = X[index + 8u];

    let s1 = pack(fma(fma(part0(x1), vec4<f32>(one()), skip1), vec4<f32>(one()), bias1));

    pivot1 = part0(s1);
    let x2 = X[index + 16u];

    let s2 = pack(fma(fma(part0(x2), vec4<f32>(one()), skip2), vec4<f32>(one()), bias2));

    pivot2 = part0(s2);
    let x3 = X[index + 24u];

    let s3 = pack(fma(fma(part0(x3), vec4<f32>(one()), skip3), vec4<f32>(one()), bias3));

    pivot3 = part0(s3);
    let x4 = X[index + 32u];

    let s4 = pack(fma(fma(part0(x4), vec4<f32>(one()), skip4), vec4<f32>(one()), bias4));

    pivot4 = part0(s4);
  }
  for (var block = 0u; block < blocks; block++) {
    let weight = 1.0 / f32(block + 1u);
    let before = f32(block * 1u) * weight;
    let x0 = X[index + 0u];

    let s0 = pack(fma(fma(part0(x0), vec4<f32>(one()), skip0), vec4<f32>(one()), bias0));

    S[index + 0u] = s0;
    let d0_0 = part0(s0) - pivot0;
    let mean0 = (d0_0) * 1.0;
    let e0_0 = d0_0 - mean0;
    let apart0 = e0_0 * e0_0;
      let delta0 = mean0 - rest0;
      rest0 = fma(delta0, vec4<f32>(weight), rest0);
      squares0 = fma(delta0 * delta0, vec4<f32>(before), squares0 + apart0);
    let x1 = X[index + 0u + 8u];

    let s1 = pack(fma(fma(part0(x1), vec4<f32>(one()), skip1), vec4<f32>(one()), bias1));

    S[index + 0u + 8u] = s1;
    let d0_1 = part0(s1) - pivot1;
    let mean1 = (d0_1) * 1.0;
    let e0_1 = d0_1 - mean1;
    let apart1 = e0_1 * e0_1;
      let delta1 = mean1 - rest1;
      rest1 = fma(delta1, vec4<f32>(weight), rest1);
      squares1 = fma(delta1 * delta1, vec4<f32>(before), squares1 + apart1);
    let x2 = X[index + 0u + 16u];

    let s2 = pack(fma(fma(part0(x2), vec4<f32>(one()), skip2), vec4<f32>(one()), bias2));

    S[index + 0u + 16u] = s2;
    let d0_2 = part0(s2) - pivot2;
    let mean2 = (d0_2) * 1.0;
    let e0_2 = d0_2 - mean2;
    let apart2 = e0_2 * e0_2;
      let delta2 = mean2 - rest2;
      rest2 = fma(delta2, vec4<f32>(weight), rest2);
      squares2 = fma(delta2 * delta2, vec4<f32>(before), squares2 + apart2);
    let x3 = X[index + 0u + 24u];

    let s3 = pack(fma(fma(part0(x3), vec4<f32>(one()), skip3), vec4<f32>(one()), bias3));

    S[index + 0u + 24u] = s3;
    let d0_3 = part0(s3) - pivot3;
    let mean3 = (d0_3) * 1.0;
    let e0_3 = d0_3 - mean3;
    let apart3 = e0_3 * e0_3;
      let delta3 = mean3 - rest3;
      rest3 = fma(delta3, vec4<f32>(weight), rest3);
      squares3 = fma(delta3 * delta3, vec4<f32>(before), squares3 + apart3);
    let x4 = X[index + 0u + 32u];

    let s4 = pack(fma(fma(part0(x4), vec4<f32>(one()), skip4), vec4<f32>(one()), bias4));

    S[index + 0u + 32u] = s4;
    let d0_4 = part0(s4) - pivot4;
    let mean4 = (d0_4) * 1.0;
    let e0_4 = d0_4 - mean4;
    let apart4 = e0_4 * e0_4;
      let delta4 = mean4 - rest4;
      rest4 = fma(delta4, vec4<f32>(weight), rest4);
      squares4 = fma(delta4 * delta4, vec4<f32>(before), squares4 + apart4);
    index += stride;
  }
  var count0 = f32(blocks * 1u);
  var count1 = f32(blocks * 1u);
  var count2 = f32(blocks * 1u);
  var count3 = f32(blocks * 1u);
  var count4 = f32(blocks * 1u);
  // What is left over, in one more block; a place behind the end reads the last vector, which does not count.
  if (holdsRest) {
    let at0 = min(index + 0u, end - 1u);
    let valid0 = restRow + place + 0u < params.rows && index + 0u < end;
    let x0 = X[at0];

    let at1 = min(index + 0u + 8u, end - 1u);
    let valid1 = restRow + place + 0u < params.rows && index + 0u + 8u < end;
    let x1 = X[at1];

    let at2 = min(index + 0u + 16u, end - 1u);
    let valid2 = restRow + place + 0u < params.rows && index + 0u + 16u < end;
    let x2 = X[at2];

    let at3 = min(index + 0u + 24u, end - 1u);
    let valid3 = restRow + place + 0u < params.rows && index + 0u + 24u < end;
    let x3 = X[at3];

    let at4 = min(index + 0u + 32u, end - 1u);
    let valid4 = restRow + place + 0u < params.rows && index + 0u + 32u < end;
    let x4 = X[at4];

    let s0 = pack(fma(fma(part0(x0), vec4<f32>(one()), skip0), vec4<f32>(one()), bias0));

    if (valid0) {
      S[at0] = s0;
    }
    let s1 = pack(fma(fma(part0(x1), vec4<f32>(one()), skip1), vec4<f32>(one()), bias1));

    if (valid1) {
      S[at1] = s1;
    }
    let s2 = pack(fma(fma(part0(x2), vec4<f32>(one()), skip2), vec4<f32>(one()), bias2));

    if (valid2) {
      S[at2] = s2;
    }
    let s3 = pack(fma(fma(part0(x3), vec4<f32>(one()), skip3), vec4<f32>(one()), bias3));

    if (valid3) {
      S[at3] = s3;
    }
    let s4 = pack(fma(fma(part0(x4), vec4<f32>(one()), skip4), vec4<f32>(one()), bias4));

    if (valid4) {
      S[at4] = s4;
    }
    let more0 = select(0.0, 1.0, valid0);
    let scale0 = 1.0 / max(more0, 1.0);
    let weight0 = more0 / max(count0 + more0, 1.0);
    if (count0 == 0.0 && valid0) {
      pivot0 = part0(s0);
    }
    let d0_0 = select(vec4<f32>(), part0(s0) - pivot0, valid0);
    let mean0 = (d0_0) * scale0;
    let e0_0 = select(vec4<f32>(), d0_0 - mean0, valid0);
    let delta0 = mean0 - rest0;
    rest0 = fma(delta0, vec4<f32>(weight0), rest0);
    squares0 += e0_0 * e0_0;
    squares0 = fma(delta0 * delta0, vec4<f32>(count0 * weight0), squares0);
    count0 += more0;
    let more1 = select(0.0, 1.0, valid1);
    let scale1 = 1.0 / max(more1, 1.0);
    let weight1 = more1 / max(count1 + more1, 1.0);
    if (count1 == 0.0 && valid1) {
      pivot1 = part0(s1);
    }
    let d0_1 = select(vec4<f32>(), part0(s1) - pivot1, valid1);
    let mean1 = (d0_1) * scale1;
    let e0_1 = select(vec4<f32>(), d0_1 - mean1, valid1);
    let delta1 = mean1 - rest1;
    rest1 = fma(delta1, vec4<f32>(weight1), rest1);
    squares1 += e0_1 * e0_1;
    squares1 = fma(delta1 * delta1, vec4<f32>(count1 * weight1), squares1);
    count1 += more1;
    let more2 = select(0.0, 1.0, valid2);
    let scale2 = 1.0 / max(more2, 1.0);
    let weight2 = more2 / max(count2 + more2, 1.0);
    if (count2 == 0.0 && valid2) {
      pivot2 = part0(s2);
    }
    let d0_2 = select(vec4<f32>(), part0(s2) - pivot2, valid2);
    let mean2 = (d0_2) * scale2;
    let e0_2 = select(vec4<f32>(), d0_2 - mean2, valid2);
    let delta2 = mean2 - rest2;
    rest2 = fma(delta2, vec4<f32>(weight2), rest2);
    squares2 += e0_2 * e0_2;
    squares2 = fma(delta2 * delta2, vec4<f32>(count2 * weight2), squares2);
    count2 += more2;
    let more3 = select(0.0, 1.0, valid3);
    let scale3 = 1.0 / max(more3, 1.0);
    let weight3 = more3 / max(count3 + more3, 1.0);
    if (count3 == 0.0 && valid3) {
      pivot3 = part0(s3);
    }
    let d0_3 = select(vec4<f32>(), part0(s3) - pivot3, valid3);
    let mean3 = (d0_3) * scale3;
    let e0_3 = select(vec4<f32>(), d0_3 - mean3, valid3);
    let delta3 = mean3 - rest3;
    rest3 = fma(delta3, vec4<f32>(weight3), rest3);
    squares3 += e0_3 * e0_3;
    squares3 = fma(delta3 * delta3, vec4<f32>(count3 * weight3), squares3);
    count3 += more3;
    let more4 = select(0.0, 1.0, valid4);
    let scale4 = 1.0 / max(more4, 1.0);
    let weight4 = more4 / max(count4 + more4, 1.0);
    if (count4 == 0.0 && valid4) {
      pivot4 = part0(s4);
    }
    let d0_4 = select(vec4<f32>(), part0(s4) - pivot4, valid4);
    let mean4 = (d0_4) * scale4;
    let e0_4 = select(vec4<f32>(), d0_4 - mean4, valid4);
    let delta4 = mean4 - rest4;
    rest4 = fma(delta4, vec4<f32>(weight4), rest4);
    squares4 += e0_4 * e0_4;
    squares4 = fma(delta4 * delta4, vec4<f32>(count4 * weight4), squares4);
    count4 += more4;
  }
  
  let cell0 = place * 40u + lane % 8u + 0u;
  let off0_0 = rest0[0];
  let off0_1 = (pivot0[1] - pivot0[0]) + rest0[1];
  let off0_2 = (pivot0[2] - pivot0[0]) + rest0[2];
  let off0_3 = (pivot0[3] - pivot0[0]) + rest0[3];
  let middle0 = (off0_0 + off0_1 + off0_2 + off0_3) * 0.25;
  let apart0_0 = off0_0 - middle0;
  let apart0_1 = off0_1 - middle0;
  let apart0_2 = off0_2 - middle0;
  let apart0_3 = off0_3 - middle0;
  let within0 = squares0[0] + squares0[1] + squares0[2] + squares0[3];
  let unit0 = vec4<f32>(count0 * 4.0, pivot0[0], middle0, fma(fma(apart0_3, apart0_3, fma(apart0_2, apart0_2, fma(apart0_1, apart0_1, apart0_0 * apart0_0))), count0, within0));
  cells[cell0] = unit0;

  
  
  let cell1 = place * 40u + lane % 8u + 8u;
  let off1_0 = rest1[0];
  let off1_1 = (pivot1[1] - pivot1[0]) + rest1[1];
  let off1_2 = (pivot1[2] - pivot1[0]) + rest1[2];
  let off1_3 = (pivot1[3] - pivot1[0]) + rest1[3];
  let middle1 = (off1_0 + off1_1 + off1_2 + off1_3) * 0.25;
  let apart1_0 = off1_0 - middle1;
  let apart1_1 = off1_1 - middle1;
  let apart1_2 = off1_2 - middle1;
  let apart1_3 = off1_3 - middle1;
  let within1 = squares1[0] + squares1[1] + squares1[2] + squares1[3];
  let unit1 = vec4<f32>(count1 * 4.0, pivot1[0], middle1, fma(fma(apart1_3, apart1_3, fma(apart1_2, apart1_2, fma(apart1_1, apart1_1, apart1_0 * apart1_0))), count1, within1));
  cells[cell1] = unit1;

  
  
  let cell2 = place * 40u + lane % 8u + 16u;
  let off2_0 = rest2[0];
  let off2_1 = (pivot2[1] - pivot2[0]) + rest2[1];
  let off2_2 = (pivot2[2] - pivot2[0]) + rest2[2];
  let off2_3 = (pivot2[3] - pivot2[0]) + rest2[3];
  let middle2 = (off2_0 + off2_1 + off2_2 + off2_3) * 0.25;
  let apart2_0 = off2_0 - middle2;
  let apart2_1 = off2_1 - middle2;
  let apart2_2 = off2_2 - middle2;
  let apart2_3 = off2_3 - middle2;
  let within2 = squares2[0] + squares2[1] + squares2[2] + squares2[3];
  let unit2 = vec4<f32>(count2 * 4.0, pivot2[0], middle2, fma(fma(apart2_3, apart2_3, fma(apart2_2, apart2_2, fma(apart2_1, apart2_1, apart2_0 * apart2_0))), count2, within2));
  cells[cell2] = unit2;

  
  
  let cell3 = place * 40u + lane % 8u + 24u;
  let off3_0 = rest3[0];
  let off3_1 = (pivot3[1] - pivot3[0]) + rest3[1];
  let off3_2 = (pivot3[2] - pivot3[0]) + rest3[2];
  let off3_3 = (pivot3[3] - pivot3[0]) + rest3[3];
  let middle3 = (off3_0 + off3_1 + off3_2 + off3_3) * 0.25;
  let apart3_0 = off3_0 - middle3;
  let apart3_1 = off3_1 - middle3;
  let apart3_2 = off3_2 - middle3;
  let apart3_3 = off3_3 - middle3;
  let within3 = squares3[0] + squares3[1] + squares3[2] + squares3[3];
  let unit3 = vec4<f32>(count3 * 4.0, pivot3[0], middle3, fma(fma(apart3_3, apart3_3, fma(apart3_2, apart3_2, fma(apart3_1, apart3_1, apart3_0 * apart3_0))), count3, within3));
  cells[cell3] = unit3;

  
  
  let cell4 = place * 40u + lane % 8u + 32u;
  let off4_0 = rest4[0];
  let off4_1 = (pivot4[1] - pivot4[0]) + rest4[1];
  let off4_2 = (pivot4[2] - pivot4[0]) + rest4[2];
  let off4_3 = (pivot4[3] - pivot4[0]) + rest4[3];
  let middle4 = (off4_0 + off4_1 + off4_2 + off4_3) * 0.25;
  let apart4_0 = off4_0 - middle4;
  let apart4_1 = off4_1 - middle4;
  let apart4_2 = off4_2 - middle4;
  let apart4_3 = off4_3 - middle4;
  let within4 = squares4[0] + squares4[1] + squares4[2] + squares4[3];
  let unit4 = vec4<f32>(count4 * 4.0, pivot4[0], middle4, fma(fma(apart4_3, apart4_3, fma(apart4_2, apart4_2, fma(apart4_1, apart4_1, apart4_0 * apart4_0))), count4, within4));
  cells[cell4] = unit4;

  
  workgroupBarrier();

  // Each group of the slab collects its units: those of its channels, for every pixel of a row and every place.
  let firstGroup = slab * 160u / 20u;
  let slabFirst = slab * 40u;
  let slabEnd = min(slabFirst + 40u, 40u);
  for (var slot = lane; slot < 8u; slot += 8u) {
    let group = firstGroup + slot;
    let groupFirst = group * 5u;
    let first = groupFirst;
    const share = 5u;
    let live = slot < 8u && group < 8u && share > 0u;
    let head = cells[first];
    let pivot = mean_of(head);
    var total = vec3<f32>();
    var cell0 = vec4<f32>();
    {
      // Without a branch, so that the loads do not wait for each other.
      let i = lane % 1u + 0u;
        let within = i % share;
        let unitIndex = first + within;
        let cell = cells[i / share * 40u + unitIndex];

      cell0 = cell;
    }
    var cell1 = vec4<f32>();
    {
      // Without a branch, so that the loads do not wait for each other.
      let i = lane % 1u + 1u;
        let within = i % share;
        let unitIndex = first + within;
        let cell = cells[i / share * 40u + unitIndex];

      cell1 = cell;
    }
    var cell2 = vec4<f32>();
    {
      // Without a branch, so that the loads do not wait for each other.
      let i = lane % 1u + 2u;
        let within = i % share;
        let unitIndex = first + within;
        let cell = cells[i / share * 40u + unitIndex];

      cell2 = cell;
    }
    var cell3 = vec4<f32>();
    {
      // Without a branch, so that the loads do not wait for each other.
      let i = lane % 1u + 3u;
        let within = i % share;
        let unitIndex = first + within;
        let cell = cells[i / share * 40u + unitIndex];

      cell3 = cell;
    }
    var cell4 = vec4<f32>();
    {
      // Without a branch, so that the loads do not wait for each other.
      let i = lane % 1u + 4u;
        let within = i % share;
        let unitIndex = first + within;
        let cell = cells[i / share * 40u + unitIndex];

      cell4 = cell;
    }
    total = add_cell(total, cell0, pivot);
    total = add_cell(total, cell1, pivot);
    total = add_cell(total, cell2, pivot);
    total = add_cell(total, cell3, pivot);
    total = add_cell(total, cell4, pivot);

    let acc = partial_of(total, pivot);
    if (lane % 1u == 0u && slot < 8u && group < 8u) {
      partials[(batch * 8u + group) * params.entries + run] = acc;
    }
  }
}
struct Params { zero: u32, jobs: u32, runs: u32, rows: u32, rowsPerRun: u32, imageVectors: u32, entries: u32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> X: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
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


fn merge(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  if (b.x == 0.0) {
    return a;
  }
  if (a.x == 0.0) {
    return b;
  }
  let count = a.x + b.x;
  let weight = b.x / count;
  let delta = (b.y - a.y) + (b.z - a.z);
  let rest = fma(delta, weight, a.z);
  let mean = a.y + rest;
  let back = mean - a.y;
  let lost = (a.y - (mean - back)) + (rest - back);
  return vec4<f32>(count, mean, lost, fma(delta * delta, a.x * weight, a.w + b.w));
}

fn finish(m: vec4<f32>, epsilon: f32) -> vec4<f32> {
  return vec4<f32>(m.y, m.z, inverseSqrt(m.w / max(m.x, 1.0) + epsilon), 0.0);
}





var<workgroup> cells: array<vec4<f32>, 40>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  const slab = 0u;
  let run = job % params.runs;
  let image = job / params.runs;
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

  let firstRow = run * params.rowsPerRun;
  let rows = min(params.rowsPerRun, params.rows - firstRow);
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
  let bias0 = vec4<f32>(bias[column0 * 4u + 0u], bias[column0 * 4u + 1u], bias[column0 * 4u + 2u], bias[column0 * 4u + 3u]);
  let bias1 = vec4<f32>(bias[column1 * 4u + 0u], bias[column1 * 4u + 1u], bias[column1 * 4u + 2u], bias[column1 * 4u + 3u]);
  let bias2 = vec4<f32>(bias[column2 * 4u + 0u], bias[column2 * 4u + 1u], bias[column2 * 4u + 2u], bias[column2 * 4u + 3u]);
  let bias3 = vec4<f32>(bias[column3 * 4u + 0u], bias[column3 * 4u + 1u], bias[column3 * 4u + 2u], bias[column3 * 4u + 3u]);
  let bias4 = vec4<f32>(bias[column4 * 4u + 0u], bias[column4 * 4u + 1u], bias[column4 * 4u + 2u], bias[column4 * 4u + 3u]);

  let skip0 = vec4<f32>(skip[batch * 160u + column0 * 4u + 0u], skip[batch * 160u + column0 * 4u + 1u], skip[batch * 160u + column0 * 4u + 2u], skip[batch * 160u + column0 * 4u + 3u]);
  let skip1 = vec4<f32>(skip[batch * 160u + column1 * 4u + 0u], skip[batch * 160u + column1 * 4u + 1u], skip[batch * 160u + column1 * 4u + 2u], skip[batch * 160u + column1 * 4u + 3u]);
  let skip2 = vec4<f32>(skip[batch * 160u + column2 * 4u + 0u], skip[batch * 160u + column2 * 4u + 1u], skip[batch * 160u + column2 * 4u + 2u], skip[batch * 160u + column2 * 4u + 3u]);
  let skip3 = vec4<f32>(skip[batch * 160u + column3 * 4u + 0u], skip[batch * 160u + column3 * 4u + 1u], skip[batch * 160u + column3 * 4u + 2u], skip[batch * 160u + column3 * 4u + 3u]);
  let skip4 = vec4<f32>(skip[batch * 160u + column4 * 4u + 0u], skip[batch * 160u + column4 * 4u + 1u], skip[batch * 160u + column4 * 4u + 2u], skip[batch * 160u + column4 * 4u + 3u]);


  // Whole blocks of 2 rows per lane. The blocks of a lane are equal in size, so the weights of the merge follow from the block number.
  let fullRows = min(rows, max(params.imageVectors / 40u, firstRow) - firstRow);
  let blocks = fullRows / 2u;
  var index = base + (firstRow + place) * 40u + column0;
  for (var block = 0u; block < blocks; block++) {
    let x0 = X[index + 0u];

    let x1 = X[index + 0u + 8u];

    let x2 = X[index + 0u + 16u];

    let x3 = X[index + 0u + 24u];

    let x4 = X[index + 0u + 32u];

    let x5 = X[index + 40u];

    let x6 = X[index + 40u + 8u];

    let x7 = X[index + 40u + 16u];

    let x8 = X[index + 40u + 24u];

    let x9 = X[index + 40u + 32u];

    let s0 = pack(part0(x0) + skip0 + bias0);

    S[index + 0u] = s0;
    let s1 = pack(part0(x1) + skip1 + bias1);

    S[index + 0u + 8u] = s1;
    let s2 = pack(part0(x2) + skip2 + bias2);

    S[index + 0u + 16u] = s2;
    let s3 = pack(part0(x3) + skip3 + bias3);

    S[index + 0u + 24u] = s3;
    let s4 = pack(part0(x4) + skip4 + bias4);

    S[index + 0u + 32u] = s4;
    let s5 = pack(part0(x5) + skip0 + bias0);

    S[index + 40u] = s5;
    let s6 = pack(part0(x6) + skip1 + bias1);

    S[index + 40u + 8u] = s6;
    let s7 = pack(part0(x7) + skip2 + bias2);

    S[index + 40u + 16u] = s7;
    let s8 = pack(part0(x8) + skip3 + bias3);

    S[index + 40u + 24u] = s8;
    let s9 = pack(part0(x9) + skip4 + bias4);

    S[index + 40u + 32u] = s9;
    let weight = 1.0 / f32(block + 1u);
    let before = f32(block * 2u) * weight;
    if (block == 0u) {
      pivot0 = part0(s0);
      pivot1 = part0(s1);
      pivot2 = part0(s2);
      pivot3 = part0(s3);
      pivot4 = part0(s4);
    }
    let d0_0 = part0(s0) - pivot0;
    let d1_0 = part0(s5) - pivot0;
    let mean0 = (d0_0 + d1_0) * 0.5;
    let e0_0 = d0_0 - mean0;
    let e1_0 = d1_0 - mean0;
    let delta0 = mean0 - rest0;
    rest0 = fma(delta0, vec4<f32>(weight), rest0);
    squares0 += fma(e1_0, e1_0, e0_0 * e0_0);
    squares0 = fma(delta0 * delta0, vec4<f32>(before), squares0);
    let d0_1 = part0(s1) - pivot1;
    let d1_1 = part0(s6) - pivot1;
    let mean1 = (d0_1 + d1_1) * 0.5;
    let e0_1 = d0_1 - mean1;
    let e1_1 = d1_1 - mean1;
    let delta1 = mean1 - rest1;
    rest1 = fma(delta1, vec4<f32>(weight), rest1);
    squares1 += fma(e1_1, e1_1, e0_1 * e0_1);
    squares1 = fma(delta1 * delta1, vec4<f32>(before), squares1);
    let d0_2 = part0(s2) - pivot2;
    let d1_2 = part0(s7) - pivot2;
    let mean2 = (d0_2 + d1_2) * 0.5;
    let e0_2 = d0_2 - mean2;
    let e1_2 = d1_2 - mean2;
    let delta2 = mean2 - rest2;
    rest2 = fma(delta2, vec4<f32>(weight), rest2);
    squares2 += fma(e1_2, e1_2, e0_2 * e0_2);
    squares2 = fma(delta2 * delta2, vec4<f32>(before), squares2);
    let d0_3 = part0(s3) - pivot3;
    let d1_3 = part0(s8) - pivot3;
    let mean3 = (d0_3 + d1_3) * 0.5;
    let e0_3 = d0_3 - mean3;
    let e1_3 = d1_3 - mean3;
    let delta3 = mean3 - rest3;
    rest3 = fma(delta3, vec4<f32>(weight), rest3);
    squares3 += fma(e1_3, e1_3, e0_3 * e0_3);
    squares3 = fma(delta3 * delta3, vec4<f32>(before), squares3);
    let d0_4 = part0(s4) - pivot4;
    let d1_4 = part0(s9) - pivot4;
    let mean4 = (d0_4 + d1_4) * 0.5;
    let e0_4 = d0_4 - mean4;
    let e1_4 = d1_4 - mean4;
    let delta4 = mean4 - rest4;
    rest4 = fma(delta4, vec4<f32>(weight), rest4);
    squares4 += fma(e1_4, e1_4, e0_4 * e0_4);
    squares4 = fma(delta4 * delta4, vec4<f32>(before), squares4);
    index += 80u;
  }
  var count0 = f32(blocks * 2u);
  var count1 = f32(blocks * 2u);
  var count2 = f32(blocks * 2u);
  var count3 = f32(blocks * 2u);
  var count4 = f32(blocks * 2u);
  // The rows left over, one at a time.
  let end = base + params.imageVectors;
  for (var row = blocks * 2u + place; row < rows; row += 1u) {
    if (index < end) {
      let x0 = X[index];

      let s0 = pack(part0(x0) + skip0 + bias0);

      S[index] = s0;
      let weight = 1.0 / (count0 + 1.0);
      if (count0 == 0.0) {
        pivot0 = part0(s0);
      }
      let d0 = part0(s0) - pivot0;
      let delta0 = d0 - rest0;
      rest0 = fma(delta0, vec4<f32>(weight), rest0);
      squares0 = fma(delta0 * delta0, vec4<f32>(count0 * weight), squares0);
      count0 += 1.0;

    }
    if (index + 8u < end) {
      let x1 = X[index + 8u];

      let s1 = pack(part0(x1) + skip1 + bias1);

      S[index + 8u] = s1;
      let weight = 1.0 / (count1 + 1.0);
      if (count1 == 0.0) {
        pivot1 = part0(s1);
      }
      let d1 = part0(s1) - pivot1;
      let delta1 = d1 - rest1;
      rest1 = fma(delta1, vec4<f32>(weight), rest1);
      squares1 = fma(delta1 * delta1, vec4<f32>(count1 * weight), squares1);
      count1 += 1.0;

    }
    if (index + 16u < end) {
      let x2 = X[index + 16u];

      let s2 = pack(part0(x2) + skip2 + bias2);

      S[index + 16u] = s2;
      let weight = 1.0 / (count2 + 1.0);
      if (count2 == 0.0) {
        pivot2 = part0(s2);
      }
      let d2 = part0(s2) - pivot2;
      let delta2 = d2 - rest2;
      rest2 = fma(delta2, vec4<f32>(weight), rest2);
      squares2 = fma(delta2 * delta2, vec4<f32>(count2 * weight), squares2);
      count2 += 1.0;

    }
    if (index + 24u < end) {
      let x3 = X[index + 24u];

      let s3 = pack(part0(x3) + skip3 + bias3);

      S[index + 24u] = s3;
      let weight = 1.0 / (count3 + 1.0);
      if (count3 == 0.0) {
        pivot3 = part0(s3);
      }
      let d3 = part0(s3) - pivot3;
      let delta3 = d3 - rest3;
      rest3 = fma(delta3, vec4<f32>(weight), rest3);
      squares3 = fma(delta3 * delta3, vec4<f32>(count3 * weight), squares3);
      count3 += 1.0;

    }
    if (index + 32u < end) {
      let x4 = X[index + 32u];

      let s4 = pack(part0(x4) + skip4 + bias4);

      S[index + 32u] = s4;
      let weight = 1.0 / (count4 + 1.0);
      if (count4 == 0.0) {
        pivot4 = part0(s4);
      }
      let d4 = part0(s4) - pivot4;
      let delta4 = d4 - rest4;
      rest4 = fma(delta4, vec4<f32>(weight), rest4);
      squares4 = fma(delta4 * delta4, vec4<f32>(count4 * weight), squares4);
      count4 += 1.0;

    }
    index += 40u;
  }
  
  let cell0 = place * 40u + (lane % 8u + 0u) * 1u;
  var unit0 = vec4<f32>(count0, pivot0[0], rest0[0], squares0[0]);
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[1], rest0[1], squares0[1]));
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[2], rest0[2], squares0[2]));
  unit0 = merge(unit0, vec4<f32>(count0, pivot0[3], rest0[3], squares0[3]));
  cells[cell0] = unit0;

  
  
  let cell1 = place * 40u + (lane % 8u + 8u) * 1u;
  var unit1 = vec4<f32>(count1, pivot1[0], rest1[0], squares1[0]);
  unit1 = merge(unit1, vec4<f32>(count1, pivot1[1], rest1[1], squares1[1]));
  unit1 = merge(unit1, vec4<f32>(count1, pivot1[2], rest1[2], squares1[2]));
  unit1 = merge(unit1, vec4<f32>(count1, pivot1[3], rest1[3], squares1[3]));
  cells[cell1] = unit1;

  
  
  let cell2 = place * 40u + (lane % 8u + 16u) * 1u;
  var unit2 = vec4<f32>(count2, pivot2[0], rest2[0], squares2[0]);
  unit2 = merge(unit2, vec4<f32>(count2, pivot2[1], rest2[1], squares2[1]));
  unit2 = merge(unit2, vec4<f32>(count2, pivot2[2], rest2[2], squares2[2]));
  unit2 = merge(unit2, vec4<f32>(count2, pivot2[3], rest2[3], squares2[3]));
  cells[cell2] = unit2;

  
  
  let cell3 = place * 40u + (lane % 8u + 24u) * 1u;
  var unit3 = vec4<f32>(count3, pivot3[0], rest3[0], squares3[0]);
  unit3 = merge(unit3, vec4<f32>(count3, pivot3[1], rest3[1], squares3[1]));
  unit3 = merge(unit3, vec4<f32>(count3, pivot3[2], rest3[2], squares3[2]));
  unit3 = merge(unit3, vec4<f32>(count3, pivot3[3], rest3[3], squares3[3]));
  cells[cell3] = unit3;

  
  
  let cell4 = place * 40u + (lane % 8u + 32u) * 1u;
  var unit4 = vec4<f32>(count4, pivot4[0], rest4[0], squares4[0]);
  unit4 = merge(unit4, vec4<f32>(count4, pivot4[1], rest4[1], squares4[1]));
  unit4 = merge(unit4, vec4<f32>(count4, pivot4[2], rest4[2], squares4[2]));
  unit4 = merge(unit4, vec4<f32>(count4, pivot4[3], rest4[3], squares4[3]));
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
    var acc = vec4<f32>();
    if (slot < 8u && group < 8u && share > 0u) {
      for (var i = lane % 1u; i < share * 1u; i += 1u) {
        let within = i % share;
        let at = first + within;
        acc = merge(acc, cells[(i / share) * 40u + at]);
      }
    }

    if (lane % 1u == 0u && slot < 8u && group < 8u) {
      partials[(batch * params.entries + run) * 8u + group] = acc;
    }
  }
}
struct Params { zero: u32, jobs: u32, runs: u32, rows: u32, rowsPerRun: u32, imageVectors: u32, entries: u32, epsilon: f32 };
@group(0) @binding(0) var<storage, read> S: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> gamma: array<u32>;
@group(0) @binding(2) var<storage, read> beta: array<u32>;
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


fn silu(y: vec4<f32>) -> vec4<f32> {
  return y / (1.0 + exp(-y));
}

var<workgroup> cells: array<vec4<f32>, 8>;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let place0 = workgroup.x + workgroup.y * 65535u;
  if (place0 >= params.jobs) {
    return;
  }
  let job = params.jobs - 1u - place0;
  const slab = 0u;
  let run = job % params.runs;
  let image = job / params.runs;
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

  let firstRow = run * params.rowsPerRun;
  let rows = min(params.rowsPerRun, params.rows - firstRow);
  let base = image * params.imageVectors;
  let end = base + params.imageVectors;
  var index = base + (firstRow + place) * 40u + column0;
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
  let gamma0 = vec4<f32>(unpack2x16float(gamma[(column0 * 4u + 0u) >> 1u])[(column0 * 4u + 0u) & 1u], unpack2x16float(gamma[(column0 * 4u + 1u) >> 1u])[(column0 * 4u + 1u) & 1u], unpack2x16float(gamma[(column0 * 4u + 2u) >> 1u])[(column0 * 4u + 2u) & 1u], unpack2x16float(gamma[(column0 * 4u + 3u) >> 1u])[(column0 * 4u + 3u) & 1u]);
  let gamma1 = vec4<f32>(unpack2x16float(gamma[(column1 * 4u + 0u) >> 1u])[(column1 * 4u + 0u) & 1u], unpack2x16float(gamma[(column1 * 4u + 1u) >> 1u])[(column1 * 4u + 1u) & 1u], unpack2x16float(gamma[(column1 * 4u + 2u) >> 1u])[(column1 * 4u + 2u) & 1u], unpack2x16float(gamma[(column1 * 4u + 3u) >> 1u])[(column1 * 4u + 3u) & 1u]);
  let gamma2 = vec4<f32>(unpack2x16float(gamma[(column2 * 4u + 0u) >> 1u])[(column2 * 4u + 0u) & 1u], unpack2x16float(gamma[(column2 * 4u + 1u) >> 1u])[(column2 * 4u + 1u) & 1u], unpack2x16float(gamma[(column2 * 4u + 2u) >> 1u])[(column2 * 4u + 2u) & 1u], unpack2x16float(gamma[(column2 * 4u + 3u) >> 1u])[(column2 * 4u + 3u) & 1u]);
  let gamma3 = vec4<f32>(unpack2x16float(gamma[(column3 * 4u + 0u) >> 1u])[(column3 * 4u + 0u) & 1u], unpack2x16float(gamma[(column3 * 4u + 1u) >> 1u])[(column3 * 4u + 1u) & 1u], unpack2x16float(gamma[(column3 * 4u + 2u) >> 1u])[(column3 * 4u + 2u) & 1u], unpack2x16float(gamma[(column3 * 4u + 3u) >> 1u])[(column3 * 4u + 3u) & 1u]);
  let gamma4 = vec4<f32>(unpack2x16float(gamma[(column4 * 4u + 0u) >> 1u])[(column4 * 4u + 0u) & 1u], unpack2x16float(gamma[(column4 * 4u + 1u) >> 1u])[(column4 * 4u + 1u) & 1u], unpack2x16float(gamma[(column4 * 4u + 2u) >> 1u])[(column4 * 4u + 2u) & 1u], unpack2x16float(gamma[(column4 * 4u + 3u) >> 1u])[(column4 * 4u + 3u) & 1u]);

  let beta0 = vec4<f32>(unpack2x16float(beta[(column0 * 4u + 0u) >> 1u])[(column0 * 4u + 0u) & 1u], unpack2x16float(beta[(column0 * 4u + 1u) >> 1u])[(column0 * 4u + 1u) & 1u], unpack2x16float(beta[(column0 * 4u + 2u) >> 1u])[(column0 * 4u + 2u) & 1u], unpack2x16float(beta[(column0 * 4u + 3u) >> 1u])[(column0 * 4u + 3u) & 1u]);
  let beta1 = vec4<f32>(unpack2x16float(beta[(column1 * 4u + 0u) >> 1u])[(column1 * 4u + 0u) & 1u], unpack2x16float(beta[(column1 * 4u + 1u) >> 1u])[(column1 * 4u + 1u) & 1u], unpack2x16float(beta[(column1 * 4u + 2u) >> 1u])[(column1 * 4u + 2u) & 1u], unpack2x16float(beta[(column1 * 4u + 3u) >> 1u])[(column1 * 4u + 3u) & 1u]);
  let beta2 = vec4<f32>(unpack2x16float(beta[(column2 * 4u + 0u) >> 1u])[(column2 * 4u + 0u) & 1u], unpack2x16float(beta[(column2 * 4u + 1u) >> 1u])[(column2 * 4u + 1u) & 1u], unpack2x16float(beta[(column2 * 4u + 2u) >> 1u])[(column2 * 4u + 2u) & 1u], unpack2x16float(beta[(column2 * 4u + 3u) >> 1u])[(column2 * 4u + 3u) & 1u]);
  let beta3 = vec4<f32>(unpack2x16float(beta[(column3 * 4u + 0u) >> 1u])[(column3 * 4u + 0u) & 1u], unpack2x16float(beta[(column3 * 4u + 1u) >> 1u])[(column3 * 4u + 1u) & 1u], unpack2x16float(beta[(column3 * 4u + 2u) >> 1u])[(column3 * 4u + 2u) & 1u], unpack2x16float(beta[(column3 * 4u + 3u) >> 1u])[(column3 * 4u + 3u) & 1u]);
  let beta4 = vec4<f32>(unpack2x16float(beta[(column4 * 4u + 0u) >> 1u])[(column4 * 4u + 0u) & 1u], unpack2x16float(beta[(column4 * 4u + 1u) >> 1u])[(column4 * 4u + 1u) & 1u], unpack2x16float(beta[(column4 * 4u + 2u) >> 1u])[(column4 * 4u + 2u) & 1u], unpack2x16float(beta[(column4 * 4u + 3u) >> 1u])[(column4 * 4u + 3u) & 1u]);


  for (var slot = lane; slot < 8u; slot += 8u) {
    let group = firstGroup + slot;
    var acc = vec4<f32>();
    if (slot < 8u && group < 8u) {
      for (var i = lane % 1u; i < params.entries; i += 1u) {
        acc = merge(acc, partials[(batch * params.entries + i) * 8u + group]);
      }
    }

    acc = finish(acc, params.epsilon);
    if (lane % 1u == 0u && slot < 8u) {
      cells[slot] = acc;
    }
  }
  workgroupBarrier();
  let g0_0 = cells[(column0 * 4u + 0u) / 20u - firstGroup];
  let g0_1 = cells[(column0 * 4u + 1u) / 20u - firstGroup];
  let g0_2 = cells[(column0 * 4u + 2u) / 20u - firstGroup];
  let g0_3 = cells[(column0 * 4u + 3u) / 20u - firstGroup];
  let mean0 = vec4<f32>(g0_0.x, g0_1.x, g0_2.x, g0_3.x);
  let scale0 = gamma0 * vec4<f32>(g0_0.z, g0_1.z, g0_2.z, g0_3.z);
  let offset0 = fma(vec4<f32>(-g0_0.y, -g0_1.y, -g0_2.y, -g0_3.y), scale0, beta0);
  let g1_0 = cells[(column1 * 4u + 0u) / 20u - firstGroup];
  let g1_1 = cells[(column1 * 4u + 1u) / 20u - firstGroup];
  let g1_2 = cells[(column1 * 4u + 2u) / 20u - firstGroup];
  let g1_3 = cells[(column1 * 4u + 3u) / 20u - firstGroup];
  let mean1 = vec4<f32>(g1_0.x, g1_1.x, g1_2.x, g1_3.x);
  let scale1 = gamma1 * vec4<f32>(g1_0.z, g1_1.z, g1_2.z, g1_3.z);
  let offset1 = fma(vec4<f32>(-g1_0.y, -g1_1.y, -g1_2.y, -g1_3.y), scale1, beta1);
  let g2_0 = cells[(column2 * 4u + 0u) / 20u - firstGroup];
  let g2_1 = cells[(column2 * 4u + 1u) / 20u - firstGroup];
  let g2_2 = cells[(column2 * 4u + 2u) / 20u - firstGroup];
  let g2_3 = cells[(column2 * 4u + 3u) / 20u - firstGroup];
  let mean2 = vec4<f32>(g2_0.x, g2_1.x, g2_2.x, g2_3.x);
  let scale2 = gamma2 * vec4<f32>(g2_0.z, g2_1.z, g2_2.z, g2_3.z);
  let offset2 = fma(vec4<f32>(-g2_0.y, -g2_1.y, -g2_2.y, -g2_3.y), scale2, beta2);
  let g3_0 = cells[(column3 * 4u + 0u) / 20u - firstGroup];
  let g3_1 = cells[(column3 * 4u + 1u) / 20u - firstGroup];
  let g3_2 = cells[(column3 * 4u + 2u) / 20u - firstGroup];
  let g3_3 = cells[(column3 * 4u + 3u) / 20u - firstGroup];
  let mean3 = vec4<f32>(g3_0.x, g3_1.x, g3_2.x, g3_3.x);
  let scale3 = gamma3 * vec4<f32>(g3_0.z, g3_1.z, g3_2.z, g3_3.z);
  let offset3 = fma(vec4<f32>(-g3_0.y, -g3_1.y, -g3_2.y, -g3_3.y), scale3, beta3);
  let g4_0 = cells[(column4 * 4u + 0u) / 20u - firstGroup];
  let g4_1 = cells[(column4 * 4u + 1u) / 20u - firstGroup];
  let g4_2 = cells[(column4 * 4u + 2u) / 20u - firstGroup];
  let g4_3 = cells[(column4 * 4u + 3u) / 20u - firstGroup];
  let mean4 = vec4<f32>(g4_0.x, g4_1.x, g4_2.x, g4_3.x);
  let scale4 = gamma4 * vec4<f32>(g4_0.z, g4_1.z, g4_2.z, g4_3.z);
  let offset4 = fma(vec4<f32>(-g4_0.y, -g4_1.y, -g4_2.y, -g4_3.y), scale4, beta4);

  if (place + 0u < rows && index + 0u < end) {
    Y[at0] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
  }
  if (place + 0u < rows && index + 0u + 8u < end) {
    Y[at1] = pack(silu(fma(part0(s1) - mean1, scale1, offset1)));
  }
  if (place + 0u < rows && index + 0u + 16u < end) {
    Y[at2] = pack(silu(fma(part0(s2) - mean2, scale2, offset2)));
  }
  if (place + 0u < rows && index + 0u + 24u < end) {
    Y[at3] = pack(silu(fma(part0(s3) - mean3, scale3, offset3)));
  }
  if (place + 0u < rows && index + 0u + 32u < end) {
    Y[at4] = pack(silu(fma(part0(s4) - mean4, scale4, offset4)));
  }
  let fullRows = min(rows, max(params.imageVectors / 40u, firstRow) - firstRow);
  let blocks = fullRows / 1u;
  for (var block = 1u; block < blocks; block++) {
    index += 40u;
    let s0 = S[index + 0u];
    let s1 = S[index + 0u + 8u];
    let s2 = S[index + 0u + 16u];
    let s3 = S[index + 0u + 24u];
    let s4 = S[index + 0u + 32u];
    Y[index + 0u] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
    Y[index + 0u + 8u] = pack(silu(fma(part0(s1) - mean1, scale1, offset1)));
    Y[index + 0u + 16u] = pack(silu(fma(part0(s2) - mean2, scale2, offset2)));
    Y[index + 0u + 24u] = pack(silu(fma(part0(s3) - mean3, scale3, offset3)));
    Y[index + 0u + 32u] = pack(silu(fma(part0(s4) - mean4, scale4, offset4)));
  }
  for (var row = max(blocks, 1u) * 1u + place; row < rows; row += 1u) {
    index = base + (firstRow + row) * 40u + column0;
    if (index < end) {
      let s0 = S[index];
      Y[index] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
    }
    if (index + 8u < end) {
      let s1 = S[index + 8u];
      Y[index + 8u] = pack(silu(fma(part0(s1) - mean1, scale1, offset1)));
    }
    if (index + 16u < end) {
      let s2 = S[index + 16u];
      Y[index + 16u] = pack(silu(fma(part0(s2) - mean2, scale2, offset2)));
    }
    if (index + 24u < end) {
      let s3 = S[index + 24u];
      Y[index + 24u] = pack(silu(fma(part0(s3) - mean3, scale3, offset3)));
    }
    if (index + 32u < end) {
      let s4 = S[index + 32u];
      Y[index + 32u] = pack(silu(fma(part0(s4) - mean4, scale4, offset4)));
    }
  }
}
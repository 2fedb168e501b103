enable f16;
struct Params { zero: u32, jobs: u32, runs: u32, rows: u32, rowsPerRun: u32, plane: u32, _pad0: u32, _pad1: u32 };
@group(0) @binding(0) var<storage, read> X: array<u32>;
@group(0) @binding(1) var<storage, read> skip: array<u32>;
@group(0) @binding(2) var<storage, read> bias: array<u32>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec4<f32>>;
@group(0) @binding(4) var<uniform> params: Params;
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
alias Packed = u32;

fn part0(p: Packed) -> vec2<f32> {
  return unpack_halves2(p);
}

fn pack(v0: vec2<f32>) -> Packed {
  return pack_halves2(v0);
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
  return vec4<f32>(count, a.y, rest, fma(delta * delta, a.x * weight, a.w + b.w));
}

fn finish(m: vec4<f32>, epsilon: f32) -> vec4<f32> {
  return vec4<f32>(m.y, m.z, inverseSqrt(m.w / max(m.x, 1.0) + epsilon), 0.0);
}




// The rounding must happen although nobody may store the word: compilers take f32(f16(x)) for x. They cannot see through a value that only the
// call knows (zero, always).
fn hold(p: Packed) -> Packed {
  return p ^ Packed(params.zero);
}
fn silu(y: f32) -> f32 {
  return y * (1.0 / (1.0 + exp(-y)));
}

var<workgroup> cells: array<vec4<f32>, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let block = job % 3u;
  let run = (job / 3u) % params.runs;
  let batch = (job / 3u) / params.runs;
  let group = block * 1u;
  let firstChannel = group * 5u;
  let firstRow = run * params.rowsPerRun;
  let rows = min(params.rowsPerRun, params.rows - firstRow);
  var pivot0 = f32();
  var rest0 = f32();
  var squares0 = f32();
  var count0 = 0.0;
  if (group < 3u) {
    for (var row = lane; row < rows; row += 256u) {
      let within = firstRow + row;
      let index = (batch * 3u + group) * params.rows + within;
    let bias0 = f32(unpack2x16float(bias[(firstChannel + (within * 1u + 0u) / params.plane) >> 1u])[(firstChannel + (within * 1u + 0u) / params.plane) & 1u]);

      let sum0 = unpack2x16float(X[(index) >> 1u])[(index) & 1u] + unpack2x16float(skip[(index) >> 1u])[(index) & 1u] + bias0;
      let s0 = hold(pack(vec2<f32>(sum0, 0.0)));
      let weight = 1.0 / (count0 + 1.0);
      if (count0 == 0.0) {
        pivot0 = part0(s0).x;
      }
      let d0 = part0(s0).x - pivot0;
      let delta0 = d0 - rest0;
      rest0 = fma(delta0, f32(weight), rest0);
      squares0 = fma(delta0 * delta0, f32(count0 * weight), squares0);
      count0 += 1.0;

    }
  }
  let unit0 = vec4<f32>(count0, pivot0, rest0, squares0);
  cells[lane] = unit0;

  workgroupBarrier();
  let slot = lane / 256u;
  {
    var acc = vec4<f32>();
    if (slot < 1u) {
      for (var i = lane % 256u; i < 256u; i += 256u) {
        acc = merge(acc, cells[(i / 256u) * 256u + slot * 256u + i % 256u]);
      }
    }
  workgroupBarrier();
  cells[lane] = acc;
  workgroupBarrier();
  for (var span = 128u; span > 0u; span = span >> 1u) {
    if (lane % 256u < span) {
      acc = merge(acc, cells[lane + span]);
      cells[lane] = acc;
    }
    workgroupBarrier();
  }

    if (lane % 256u == 0u && slot < 1u && block * 1u + slot < 3u) {
      partials[(batch * 3u + block * 1u + slot) * params.runs + run] = acc;
    }
  }
}

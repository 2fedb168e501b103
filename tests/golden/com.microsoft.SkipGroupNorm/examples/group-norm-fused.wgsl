enable f16;
struct Params { zero: u32, jobs: u32, items: u32, plane: u32, epsilon: f32, _pad0: u32, _pad1: u32, _pad2: u32 };
@group(0) @binding(0) var<storage, read> X: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> skip: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> bias: array<u32>;
@group(0) @binding(3) var<storage, read> gamma: array<f32>;
@group(0) @binding(4) var<storage, read> beta: array<f32>;
@group(0) @binding(5) var<storage, read_write> Y: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> S: array<vec2<u32>>;
@group(0) @binding(7) var<uniform> params: Params;
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
alias Packed = vec2<u32>;

fn part0(p: Packed) -> vec4<f32> {
  return unpack_halves4(p);
}

fn pack(v0: vec4<f32>) -> Packed {
  return pack_halves4(v0);
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
// Two values share a reciprocal. The bound keeps the product finite; what it changes is zero in float16, and a NaN comes back by the product with y.
fn silu(y: vec4<f32>) -> vec4<f32> {
  let power = y * -1.4426950408889634;
  let whole = 1.0 + exp2(select(vec4<f32>(60.0), power, power < vec4<f32>(60.0)));
  let inverse = 1.0 / (whole.xy * whole.zw);
  return y * vec4<f32>(inverse * whole.zw, inverse * whole.xy);
}

var<workgroup> cells: array<vec4<f32>, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let batch = job / 1u;
  let group = job % 1u;
  let firstChannel = group * 640u;
  var pivot0 = vec4<f32>();
  var rest0 = vec4<f32>();
  var squares0 = vec4<f32>();
  var count0 = 0.0;
  for (var i = lane; i < params.items; i += 256u) {
    let index = job * params.items + i;

    let bias0 = vec4<f32>(unpack2x16float(bias[(firstChannel + (i * 4u + 0u) / params.plane) >> 1u])[(firstChannel + (i * 4u + 0u) / params.plane) & 1u], unpack2x16float(bias[(firstChannel + (i * 4u + 1u) / params.plane) >> 1u])[(firstChannel + (i * 4u + 1u) / params.plane) & 1u], unpack2x16float(bias[(firstChannel + (i * 4u + 2u) / params.plane) >> 1u])[(firstChannel + (i * 4u + 2u) / params.plane) & 1u], unpack2x16float(bias[(firstChannel + (i * 4u + 3u) / params.plane) >> 1u])[(firstChannel + (i * 4u + 3u) / params.plane) & 1u]);

    let x0 = X[index];
let k0 = skip[index];

    let s0 = hold(pack(part0(x0) + part0(k0) + bias0));


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
  cells[lane] = unit0;

  var acc = unit0;
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

  if (lane == 0u) {
    cells[0] = finish(acc, params.epsilon);
  }
  workgroupBarrier();
  let moments = cells[0];
  for (var i = lane; i < params.items; i += 256u) {
    let index = job * params.items + i;

    let s0 = S[index];
    let gamma0 = vec4<f32>(gamma[firstChannel + (i * 4u + 0u) / params.plane], gamma[firstChannel + (i * 4u + 1u) / params.plane], gamma[firstChannel + (i * 4u + 2u) / params.plane], gamma[firstChannel + (i * 4u + 3u) / params.plane]);

    let beta0 = vec4<f32>(beta[firstChannel + (i * 4u + 0u) / params.plane], beta[firstChannel + (i * 4u + 1u) / params.plane], beta[firstChannel + (i * 4u + 2u) / params.plane], beta[firstChannel + (i * 4u + 3u) / params.plane]);

    let mean0 = vec4<f32>(moments.x);
    let scale0 = gamma0 * moments.z;
    let offset0 = fma(vec4<f32>(-moments.y), scale0, beta0);
    Y[index] = pack(silu(fma(part0(s0) - mean0, scale0, offset0)));
  }
}
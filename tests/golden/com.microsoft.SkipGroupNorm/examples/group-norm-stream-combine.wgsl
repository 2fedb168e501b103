struct Params { jobs: u32, entries: u32, epsilon: f32, _pad0: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> moments: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: Params;
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

var<workgroup> cells: array<vec4<f32>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let job = workgroup.x + workgroup.y * 65535u;
  if (job >= params.jobs) {
    return;
  }
  let from0 = job * params.entries;
  var acc = vec4<f32>();
  for (var first = lane; first < params.entries; first += 192u) {
    let i0 = first + 0u;
    let read0 = partials[from0 + min(i0, params.entries - 1u)];
    let i1 = first + 64u;
    let read1 = partials[from0 + min(i1, params.entries - 1u)];
    let i2 = first + 128u;
    let read2 = partials[from0 + min(i2, params.entries - 1u)];
    let cell0 = select(vec4<f32>(), read0, i0 < params.entries);
    let cell1 = select(vec4<f32>(), read1, i1 < params.entries);
    let cell2 = select(vec4<f32>(), read2, i2 < params.entries);
    let pivot = cell0.y + cell0.z;
    var total = vec3<f32>();
    total = add_cell(total, cell0, pivot);
    total = add_cell(total, cell1, pivot);
    total = add_cell(total, cell2, pivot);
    acc = merge(acc, partial_of(total, pivot));
  }
  workgroupBarrier();
  cells[lane] = acc;
  workgroupBarrier();
  for (var span = 32u; span > 0u; span = span >> 1u) {
    if (lane % 64u < span) {
      acc = merge(acc, cells[lane + span]);
      cells[lane] = acc;
    }
    workgroupBarrier();
  }

  if (lane == 0u) {
    moments[job] = finish(acc, params.epsilon);
  }
}
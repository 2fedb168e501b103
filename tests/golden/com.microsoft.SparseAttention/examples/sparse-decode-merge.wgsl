




struct Params { heads: u32, _pad0: u32, _pad1: u32, _pad2: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}

var<workgroup> weights: array<f32, 10>;
var<workgroup> totals: array<f32, 10>;
var<workgroup> sums: array<mat2x4<f32>, 128>;
var<workgroup> group_totals: array<f32, 4>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.x + workgroup.y * 65535u;
  if (head >= params.heads) {
    return;
  }
  let start = head * 650u;
  for (var split = lane; split < 10u; split += 128u) {
    let stats = partials[start + split * 65u + 64u];
    weights[split] = stats.x;
    totals[split] = stats.y;
  }
  workgroupBarrier();
  var top = weights[0];
  for (var split = 1u; split < 10u; split++) {
    top = max(top, weights[split]);
  }
  workgroupBarrier();
  for (var split = lane; split < 10u; split += 128u) {
    let weight = exp2(weights[split] - top);
    weights[split] = weight;
    totals[split] *= weight;
  }
  workgroupBarrier();
  let group = lane / 32u;
  for (var first = 0u; first < 32u; first += 32u) {
    let octet = first + lane % 32u;
    var sum = mat2x4<f32>();
    var total = 0.0;
    if (group < 4u && octet < 32u) {
      for (var split = group; split < 10u; split += 4u) {
        let at = start + split * 65u + octet * 2u;
        sum += mat2x4<f32>(partials[at], partials[at + 1u]) * weights[split];
        total += totals[split];
      }
      sums[lane] = sum;
      group_totals[group] = total;
    }
    workgroupBarrier();
    if (group == 0u && octet < 32u) {
      for (var g = 1u; g < 4u; g++) {
        sum += sums[g * 32u + lane];
        total += group_totals[g];
      }
      store_output(head * 32u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
    workgroupBarrier();
  }
}
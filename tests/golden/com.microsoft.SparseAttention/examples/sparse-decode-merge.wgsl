




struct Params { heads: u32, _pad0: u32, _pad1: u32, _pad2: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}

const kUnset: f32 = -1.0e30;

var<workgroup> tops: array<vec4<f32>, 5>;
var<workgroup> totals: array<f32, 20>;
var<workgroup> sums: array<mat2x4<f32>, 256>;
var<workgroup> group_totals: array<f32, 8>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.x + workgroup.y * 65535u;
  if (head >= params.heads) {
    return;
  }
  let start = head * 1300u;
  for (var split = lane; split < 20u; split += 256u) {
    var stats = vec4<f32>(kUnset, 0.0, 0.0, 0.0);
    if (split < 20u) {
      stats = partials[start + split * 65u + 64u];
    }
    tops[split / 4u][split % 4u] = stats.x;
    totals[split] = stats.y;
  }
  workgroupBarrier();
  var top4 = tops[0];
  for (var i = 1u; i < 5u; i++) {
    top4 = max(top4, tops[i]);
  }
  let top = max(max(top4.x, top4.y), max(top4.z, top4.w));
  let group = lane / 32u;
  for (var first = 0u; first < 32u; first += 32u) {
    let octet = first + lane % 32u;
    var sum = mat2x4<f32>();
    var total = 0.0;
    if (group < 8u && octet < 32u) {
      for (var split = group; split < 20u; split += 8u) {
        let own = tops[split / 4u][split % 4u];
        if (own > kUnset) {
          let weight = exp2(own - top);
          let at = start + split * 65u + octet * 2u;
          sum += mat2x4<f32>(partials[at], partials[at + 1u]) * weight;
          total += totals[split] * weight;
        }
      }
      sums[lane] = sum;
      group_totals[group] = total;
    }
    workgroupBarrier();
    if (group == 0u && octet < 32u) {
      for (var g = 1u; g < 8u; g++) {
        sum += sums[g * 32u + lane];
        total += group_totals[g];
      }
      store_output(head * 32u + octet, sum * select(0.0, 1.0 / total, total > 0.0));
    }
    workgroupBarrier();
  }
}
diagnostic(off, subgroup_uniformity);







struct Params { heads: u32, _pad0: u32, _pad1: u32, _pad2: u32 };
@group(0) @binding(0) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
@group(0) @binding(2) var<uniform> params: Params;

fn store_output(octet: u32, value: mat2x4<f32>) {
  output[2u * octet] = bitcast<vec4<u32>>(value[0]);
  output[2u * octet + 1u] = bitcast<vec4<u32>>(value[1]);
}

const kUnset: f32 = -1.0e30;

var<workgroup> stats: array<vec2<f32>, 2>;
var<workgroup> sums: array<vec4<f32>, 8>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let index = workgroup.x + workgroup.y * 65535u;
  let head = index / 2u;
  let first_octet = index % 2u * 2u;
  let start = head * 14u;
  let group = lane / 4u;
  let four = min(first_octet * 2u + lane % 4u, 5u);
  var top = kUnset;
  var total = 0.0;
  var sum = vec4<f32>();
  if (group < 2u) {
    {
      let turn = 0u;
      let split0 = group + (turn + 0u) * 2u;
      let at0 = start + split0 * 7u;
      let stats0 = partials[at0 + 6u].xy;
      let part0 = partials[at0 + four];
      let top0 = stats0.x;
      let new_top = max(top, top0);
      let factor = exp2(top - new_top);
      top = new_top;
      total *= factor;
      sum *= factor;
      let live0 = top0 > kUnset;
      let weight0 = exp2(top0 - new_top);
      total += select(0.0, stats0.y * weight0, live0);
      sum += select(vec4<f32>(), part0 * weight0, live0);
    }
    sums[lane] = sum;
    if (lane % 4u == 0u) {
      stats[group] = vec2<f32>(top, total);
    }
  }
  workgroupBarrier();
  let octet = first_octet + lane;
  if (lane < 2u && octet < 3u) {
    var all_top = kUnset;
    for (var g = 0u; g < 2u; g++) {
      all_top = max(all_top, stats[g].x);
    }
    var all = mat2x4<f32>();
    var all_total = 0.0;
    for (var g = 0u; g < 2u; g++) {
      let weight = exp2(stats[g].x - all_top);
      all_total += stats[g].y * weight;
      all += mat2x4<f32>(sums[g * 4u + 2u * lane], sums[g * 4u + 2u * lane + 1u]) * weight;
    }
    store_output(head * 3u + octet, all * select(0.0, 1.0 / all_total, all_total > 0.0));
  }
}

enable subgroups;
fn part0(v: f32) -> f32 {
  return v;
}

fn stored(a: f32) -> f32 {
  return a;
}

fn added(v: f32) -> f32 {
  return v;
}
struct Params { rows: u32, hidden: u32, epsilon: f32, rows_per_group: u32 };
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> skip: array<f32>;
@group(0) @binding(2) var<storage, read> gamma: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;


@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let width = params.hidden / 1u;
  var row = (group.x + group.y * 65535u) * params.rows_per_group;
  let end_row = min(row + params.rows_per_group, params.rows);
  for (var pair = 0u; pair < 0x40000000u; pair++) {
    if (row + 1u >= end_row) {
      break;
    }
    var squares0 = f32();
    let start0 = (row + 0u) * width;
    var squares1 = f32();
    let start1 = (row + 1u) * width;
    {
      for (var k = 0u; k < 0x40000000u; k++) {
        let i = lane + k * 8u;
        if (i >= width) {
          break;
        }
        let i_0 = i + 0u;
        let s00_0 = part0(x[start0 + i_0]) + part0(skip[start0 + i_0]);
        y[start0 + i_0] = s00_0;
        squares0 += s00_0 * s00_0;
        let s10_0 = part0(x[start1 + i_0]) + part0(skip[start1 + i_0]);
        y[start1 + i_0] = s10_0;
        squares1 += s10_0 * s10_0;
      }
    }
    let inverse0 = inverseSqrt(subgroupAdd(added(squares0)) / f32(params.hidden) + params.epsilon);
    let inverse1 = inverseSqrt(subgroupAdd(added(squares1)) / f32(params.hidden) + params.epsilon);
    for (var k = 0u; k < 0x40000000u; k++) {
      let i = lane + k * 8u;
      if (i >= width) {
        break;
      }
      let i_0 = i + 0u;
    let gammas_0 = gamma[i_0];
    let gamma0_0 = part0(gammas_0);
      y[start0 + i_0] = y[start0 + i_0] * inverse0 * gamma0_0;
      y[start1 + i_0] = y[start1 + i_0] * inverse1 * gamma0_0;
    }

    row += 2u;
  }
  if (row < end_row) {
    var squares0 = f32();
    let start0 = (row + 0u) * width;
    {
      for (var k = 0u; k < 0x40000000u; k++) {
        let i = lane + k * 8u;
        if (i >= width) {
          break;
        }
        let i_0 = i + 0u;
        let s00_0 = part0(x[start0 + i_0]) + part0(skip[start0 + i_0]);
        y[start0 + i_0] = s00_0;
        squares0 += s00_0 * s00_0;
      }
    }
    let inverse0 = inverseSqrt(subgroupAdd(added(squares0)) / f32(params.hidden) + params.epsilon);
    for (var k = 0u; k < 0x40000000u; k++) {
      let i = lane + k * 8u;
      if (i >= width) {
        break;
      }
      let i_0 = i + 0u;
    let gammas_0 = gamma[i_0];
    let gamma0_0 = part0(gammas_0);
      y[start0 + i_0] = y[start0 + i_0] * inverse0 * gamma0_0;
    }

  }
}

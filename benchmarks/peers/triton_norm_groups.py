# SPDX-License-Identifier: Apache-2.0
"""A hand-written Triton form of the skip group norm, NHWC: sum and channel partials; statistics per group; apply. The best of several tilings is kept."""

import torch
import triton
import triton.language as tl


@triton.jit
def _sum_and_partials(x, skip, bias, s, partial, pixels, channels, per_program, PIXELS: tl.constexpr, CHANNELS: tl.constexpr):
    image, slab, block = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    column = block * CHANNELS + tl.arange(0, CHANNELS)
    valid = column < channels
    b = tl.load(bias + column, valid, 0.0).to(tl.float32)
    total = tl.zeros([CHANNELS], tl.float32)
    squares = tl.zeros([CHANNELS], tl.float32)
    end = min((slab + 1) * per_program, pixels)
    for begin in range(slab * per_program, end, PIXELS):
        row = begin + tl.arange(0, PIXELS)
        inside = (row < end)[:, None] & valid[None, :]
        place = (image.to(tl.int64) * pixels + row[:, None]) * channels + column[None, :]
        v = tl.load(x + place, inside, 0.0).to(tl.float32) + tl.load(skip + place, inside, 0.0).to(tl.float32) + b[None, :]
        v = tl.where(inside, v, 0.0)
        rounded = v.to(s.dtype.element_ty)
        tl.store(s + place, rounded, inside)
        r = rounded.to(tl.float32)
        total += tl.sum(r, 0)
        squares += tl.sum(r * r, 0)
    out = ((image * tl.num_programs(1) + slab) * 2) * channels + column
    tl.store(partial + out, total, valid)
    tl.store(partial + out + channels, squares, valid)


@triton.jit
def _statistics(partial, statistics, slabs, channels, count, epsilon, groups, WIDTH: tl.constexpr, SLABS: tl.constexpr):
    image, group = tl.program_id(0), tl.program_id(1)
    width = channels // groups
    column = tl.arange(0, WIDTH)
    slab = tl.arange(0, SLABS)
    inside = (slab < slabs)[:, None] & (column < width)[None, :]
    place = ((image * slabs + slab[:, None]) * 2) * channels + group * width + column[None, :]
    mean = tl.sum(tl.sum(tl.load(partial + place, inside, 0.0), 1), 0) / count
    square = tl.sum(tl.sum(tl.load(partial + place + channels, inside, 0.0), 1), 0) / count
    tl.store(statistics + (image * groups + group) * 2, mean)
    tl.store(statistics + (image * groups + group) * 2 + 1, tl.rsqrt(tl.maximum(square - mean * mean, 0.0) + epsilon))


@triton.jit
def _apply(s, gamma, beta, statistics, y, total, pixels, channels, groups, SILU: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < total
    channel = (place % channels).to(tl.int32)
    group = (place // (pixels * channels)).to(tl.int32) * groups + channel // (channels // groups)
    v = tl.load(s + place, inside, 0.0).to(tl.float32)
    v = (v - tl.load(statistics + group * 2, inside, 0.0)) * tl.load(statistics + group * 2 + 1, inside, 0.0)
    v = v * tl.load(gamma + channel, inside, 0.0).to(tl.float32) + tl.load(beta + channel, inside, 0.0).to(tl.float32)
    if SILU:
        v = v * tl.sigmoid(v)
    tl.store(y + place, v.to(y.dtype.element_ty), inside)


def group_norm(images, pixels, channels, groups, epsilon, silu, with_sum):
    from cuda_timing import quick

    def launch(X, gamma, beta, skip, bias, slabs, block_pixels, block_channels):
        y, s = torch.empty_like(X), torch.empty_like(X)
        partial = torch.empty(images * slabs * 2 * channels, device=X.device)
        statistics = torch.empty(images * groups * 2, device=X.device)
        per_program = triton.cdiv(pixels, slabs)
        _sum_and_partials[(images, slabs, triton.cdiv(channels, block_channels))](
            X, skip, bias, s, partial, pixels, channels, per_program, PIXELS=block_pixels, CHANNELS=block_channels)
        _statistics[(images, groups)](partial, statistics, slabs, channels, pixels * (channels // groups), epsilon, groups,
                                      WIDTH=triton.next_power_of_2(channels // groups), SLABS=triton.next_power_of_2(slabs))
        _apply[(triton.cdiv(X.numel(), 2048),)](s, gamma, beta, statistics, y, X.numel(), pixels, channels, groups, SILU=silu, BLOCK=2048)
        return (y, s) if with_sum else (y,)

    tilings = [(min(slabs, max(1, pixels // 8)), rows, columns) for slabs in (32, 128) for rows, columns in ((8, 128), (16, 64), (4, 256))]
    choice = []

    def run(X, gamma, beta, skip, bias):
        if not choice:
            choice.append(min(tilings, key=lambda t: quick(lambda i: launch(X, gamma, beta, skip, bias, *t), 2)))
        return launch(X, gamma, beta, skip, bias, *choice[0])

    return run

# SPDX-License-Identifier: Apache-2.0
"""Our own Triton form of the fused row norm: what a good hand-written CUDA-side kernel reaches. One program per row, several rows per program for short rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def _rows(x, skip, gamma, y, total, hidden, epsilon, rows, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < hidden)
    place = row.to(tl.int64) * hidden + column
    r = tl.load(x + place, inside, 0.0).to(tl.float32) + tl.load(skip + place, inside, 0.0).to(tl.float32)
    tl.store(total + place, r.to(total.dtype.element_ty), inside)
    scale = tl.rsqrt(tl.sum(r * r, 1) / hidden + epsilon)[:, None]
    g = tl.load(gamma + column, column < hidden, 0.0).to(tl.float32)
    tl.store(y + place, (r * scale * g).to(y.dtype.element_ty), inside)


@triton.jit
def _long_row(x, skip, gamma, y, total, hidden, epsilon, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * hidden
    column = tl.arange(0, BLOCK)
    squares = tl.zeros([BLOCK], tl.float32)
    for begin in range(0, hidden, BLOCK):
        inside = begin + column < hidden
        place = start + begin + column
        r = tl.load(x + place, inside, 0.0).to(tl.float32) + tl.load(skip + place, inside, 0.0).to(tl.float32)
        tl.store(total + place, r.to(total.dtype.element_ty), inside)
        squares += r * r
    scale = tl.rsqrt(tl.sum(squares) / hidden + epsilon)
    for begin in range(0, hidden, BLOCK):
        inside = begin + column < hidden
        place = start + begin + column
        r = tl.load(x + place, inside, 0.0).to(tl.float32) + tl.load(skip + place, inside, 0.0).to(tl.float32)
        g = tl.load(gamma + begin + column, inside, 0.0).to(tl.float32)
        tl.store(y + place, (r * scale * g).to(y.dtype.element_ty), inside)


@triton.jit
def _empty():
    pass


def empty_kernel():
    _empty[(1,)](num_warps=1)


@triton.jit
def _streams(x, skip, y, total, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    a, b = tl.load(x + place, inside), tl.load(skip + place, inside)
    tl.store(total + place, a + b, inside)
    tl.store(y + place, a - b, inside)


def streams(inputT, skipT, gammaT):
    """Reads two and writes two tensors, nothing else: the floor of the fused norm there. Its result is not the norm's."""
    y, total = torch.empty_like(inputT), torch.empty_like(inputT)
    block = 1024 if inputT.element_size() == 4 else 2048
    _streams[(triton.cdiv(inputT.numel(), block),)](inputT, skipT, y, total, inputT.numel(), BLOCK=block, num_warps=8)
    return y, total


streams.unchecked = "reads two and writes two tensors, nothing else"


def _launch(x, skip, gamma, epsilon, rows_per_program, warps):
    hidden = x.shape[-1]
    rows = x.numel() // hidden
    y, total = torch.empty_like(x), torch.empty_like(x)
    if hidden > 32768:
        _long_row[(rows,)](x, skip, gamma, y, total, hidden, epsilon, BLOCK=16384, num_warps=16)
    else:
        grid = (triton.cdiv(rows, rows_per_program),)
        _rows[grid](x, skip, gamma, y, total, hidden, epsilon, rows, ROWS=rows_per_program, BLOCK=triton.next_power_of_2(hidden), num_warps=warps)
    return y, total


def row_norm(epsilon):
    """A function of (input, skip, gamma) -> (y, sum) with the fastest launch found on its first call."""
    from cuda_timing import quick

    choice = {}

    def run(inputT, skipT, gammaT):
        key = (inputT.shape, inputT.dtype)
        if key not in choice:
            short = inputT.shape[-1] <= 1024
            options = [(rows, warps) for rows in ((4, 16, 32) if short else (1,)) for warps in ((4, 8) if short else (4, 8, 16))]
            choice[key] = min(options, key=lambda o: quick(lambda i: _launch(inputT, skipT, gammaT, epsilon, *o), 2))
        return _launch(inputT, skipT, gammaT, epsilon, *choice[key])

    return run

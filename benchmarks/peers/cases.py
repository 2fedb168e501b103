# SPDX-License-Identifier: Apache-2.0
"""Benchmark cases of a package as numpy arrays: the same shapes, attributes and data that `wgk bench` uses."""

import json
import pathlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

DTYPES = {"float32": np.float32, "float16": np.float16, "int32": np.int32, "uint32": np.uint32, "int64": np.int64}
MASK = (1 << 64) - 1


CHUNK = 1 << 22     # values that one thread makes at a time


def splitmix64(seed, first, count, xp):
    """SplitMix64 outputs for `count` counters from `first` (the first of all is 1), as unsigned 64-bit integers."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed & MASK) + xp.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def normal(seed, first, count, scale, xp):
    """Near normal: the sum of the four 16-bit words of a SplitMix64 output, mean 0, deviation `scale`."""
    z = splitmix64(seed, first, count, xp)
    words = sum(((z >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.float64) for i in range(4))
    deviation = np.sqrt(4 * (65536.0**2 - 1) / 12)
    return (words - 2 * 65535.0) * (scale / deviation)


def in_chunks(make, count, dtype, xp):
    """make(first, count) for counters 1..count, in parallel on the host, on a device at once."""
    if xp is not np or count <= CHUNK:
        return make(1, count).astype(dtype)
    values = np.empty(count, dtype)

    def fill(begin):
        end = min(begin + CHUNK, count)
        values[begin:end] = make(begin + 1, end - begin)

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, count, CHUNK)))
    return values


def csr_block_mask(spec):
    layouts, blocks = spec["numLayout"], spec["maxBlocks"]
    step = max(1, spec["vertStride"] // layouts)
    rows, columns = [], []
    for layout in range(layouts):
        pointers, entries = [0], []
        for q in range(blocks):
            k = np.arange(q + 1)
            live = (q - k < spec["localBlocks"]) | ((k + layout * step + 1) % spec["vertStride"] == 0)
            entries.extend(k[live].tolist())
            pointers.append(len(entries))
        rows.append(pointers)
        columns.append(entries)
    if spec["part"] == "rows":
        return np.array(rows, np.int32)
    width = max(len(entries) for entries in columns)
    return np.array([entries + [-1] * (width - len(entries)) for entries in columns], np.int32)


def tensor(spec, default_seed, xp=np):
    """One input of a case. Without data: near normal values, seeded by the port's position (as `wgk bench` does)."""
    shape, dtype = tuple(spec["shape"]), DTYPES[spec["dtype"]]
    count = int(np.prod(shape, dtype=np.int64))
    data = spec.get("data", {"kind": "normal", "seed": default_seed})
    kind = data["kind"]
    if kind == "normal":
        values = in_chunks(lambda first, n: normal(data.get("seed", 0), first, n, data.get("scale", 1.0), xp), count, dtype, xp)
    elif kind == "values":
        values = xp.asarray(np.array(data["values"], np.float64))
    elif kind == "const":
        values = xp.full(count, data["value"], np.float64)
    elif kind == "linear":
        values = data.get("start", 0) + xp.arange(count, dtype=np.float64) * data.get("step", 1)
    elif kind == "grid":
        r = data["r"]

        def grid(first, n):
            steps = (splitmix64(data["seed"], first, n, xp) % np.uint64(2 * r + 1)).astype(np.float64) - r
            return steps * data["step"] + data.get("offset", 0)

        values = in_chunks(grid, count, dtype, xp)
    elif kind == "csrBlockMask":
        values = xp.asarray(csr_block_mask(data))
    else:
        raise ValueError(f"data kind {kind!r} is not known to the peers")
    return values.reshape(shape).astype(dtype)


@dataclass
class Case:
    package: str
    name: str
    tags: list
    attrs: dict
    specs: dict
    outputs: list
    values: dict = field(default_factory=dict)

    def inputs(self, xp=np):
        """Port -> array of `xp` (numpy, or cupy for arrays on the device); made on first use because large cases hold gigabytes."""
        if xp.__name__ not in self.values:
            self.values[xp.__name__] = {port: tensor(spec, i + 1, xp) for i, (port, spec) in enumerate(self.specs.items())}
        return self.values[xp.__name__]

    def forget(self):
        self.values = {}

    def dtype(self):
        return next(iter(self.specs.values()))["dtype"]


def load(package_folder, tags=(), names=()):
    folder = pathlib.Path(package_folder)
    bench = json.loads((folder / "build/webgpu/bench.json").read_text())
    cases = [
        Case(folder.name, c["name"], c.get("tags", []), c.get("attrs", {}), c["inputs"], c["outputs"]) for c in bench["cases"]
    ]
    if names:
        cases = [c for c in cases if c.name in names]
    if tags:
        cases = [c for c in cases if set(tags) & set(c.tags)]
    return cases

# SPDX-License-Identifier: Apache-2.0
"""Inputs that test.json and bench.json of com.microsoft.SparseAttention have in common: integers, block masks, caches."""
from case_writer import tensor, values

CACHES = ("pastKeyT", "pastValueT")


def ints(shape, items):
    return tensor("int32", shape, values(items))


def block_mask(layouts, blocks, local, stride):
    """The two index tensors as a generator of the test dialect."""
    step = max(1, stride // layouts)
    width = max(sum(q - k < local or (k + layout * step + 1) % stride == 0 for q in range(blocks) for k in range(q + 1))
                for layout in range(layouts))
    common = {"kind": "csrBlockMask", "numLayout": layouts, "maxBlocks": blocks, "localBlocks": local, "vertStride": stride}
    return {
        "blockRowIndicesT": tensor("int32", [layouts, blocks + 1], {**common, "part": "rows"}),
        "blockColIndicesT": tensor("int32", [layouts, width], {**common, "part": "cols"}),
    }


def lists(layouts, width=None, padding=-1):
    """The two index tensors of explicit column lists: layouts[layout][row] is a list."""
    pointers, columns = [], []
    for rows in layouts:
        pointers.append([0])
        columns.append([])
        for row in rows:
            columns[-1] += row
            pointers[-1].append(len(columns[-1]))
    width = max(map(len, columns)) if width is None else width
    padded = [row + [padding] * (width - len(row)) for row in columns]
    return {
        "blockRowIndicesT": ints([len(layouts), len(pointers[0])], sum(pointers, [])),
        "blockColIndicesT": ints([len(layouts), width], sum(padded, [])),
    }

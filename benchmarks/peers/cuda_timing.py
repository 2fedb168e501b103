# SPDX-License-Identifier: Apache-2.0
"""Times CUDA peers as they run at best: a captured graph of calls on different input sets, the cache emptied before each replay."""

import torch

CALLS = 20            # calls in one graph, each on its own inputs and outputs
REPLAYS = 30
FLUSH_BYTES = 512 << 20
CLOCK = f"CUDA events round a graph of {CALLS} calls, cache emptied"

_flush = None


def flush():
    """Empties the cache by reading, so that no write-back is charged to what is timed."""
    global _flush
    if _flush is None:
        _flush = torch.ones(FLUSH_BYTES // 4, device="cuda")
    return _flush.sum()


def compiled(function):
    """torch.compile for the very shapes of each call. One process keeps what it compiled for every case, so the bound on what it keeps is lifted."""
    torch._dynamo.config.recompile_limit = 1000
    torch._dynamo.config.accumulated_recompile_limit = 10000
    return torch.compile(function, dynamic=False)


def capture(function, calls):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for i in range(min(3, calls)):
            function(i)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = [function(i) for i in range(calls)]
    return graph, outputs


def replay_times(graph, calls, replays, cold):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(3):
        graph.replay()
    seconds = []
    for _ in range(replays):
        if cold:
            flush()
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3 / calls)
    return seconds


def time_graph(function, sets, replays=REPLAYS):
    """Seconds per call, cold. `function(i)` runs one call on input set i, 0 <= i < sets."""
    calls = max(sets, 2)
    graph, outputs = capture(lambda i: function(i % sets), calls)
    seconds = replay_times(graph, calls, replays, cold=True)
    del graph, outputs
    torch.cuda.empty_cache()
    return seconds


def quick(function, sets):
    """A short timing for choosing between launch configurations."""
    return sorted(time_graph(function, sets, replays=7))[3]


def input_sets(bytes_per_set):
    """As many sets as the graph has calls, fewer where memory would not hold them or one call is long."""
    free, _ = torch.cuda.mem_get_info()
    return int(max(2, min(CALLS, 0.35 * free / max(bytes_per_set, 1))))


def graph_node_seconds(nodes=1000):
    """One launch of an empty kernel in a captured graph, each node after the one before."""
    from triton_norm import empty_kernel

    graph, _ = capture(lambda i: empty_kernel(), nodes)
    return sorted(replay_times(graph, nodes, 15, cold=False))[7]


def copy_rate(size=1 << 30):
    """Bytes per second, read and written, of device copies that rotate past the cache."""
    pairs = [(torch.ones(size // 4, device="cuda"), torch.empty(size // 4, device="cuda")) for _ in range(4)]
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    seconds = []
    for i in range(40):
        source, target = pairs[i % 4]
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    del pairs
    torch.cuda.empty_cache()
    return 2 * size / sorted(seconds[5:])[17]

# SPDX-License-Identifier: Apache-2.0
"""One result form for all peers: the measurements of `wgk bench --json`, so that one report holds both."""

import datetime
import json
import pathlib
import sys


def summary(seconds):
    values = sorted(seconds)
    count = len(values)

    def quantile(q):
        rank = q * (count - 1)
        below = int(rank)
        above = min(below + 1, count - 1)
        return values[below] + (values[above] - values[below]) * (rank - below)

    median = quantile(0.5)
    return {"median": median, "p10": quantile(0.1), "p90": quantile(0.9), "min": values[0], "max": values[-1],
            "samples": count, "outliers": outliers(values, median)}


def outliers(values, median):
    """As `wgk bench` counts them: further than three deviations (estimated by the median deviation) from the median."""
    deviations = sorted(abs(v - median) for v in values)
    limit = 3 * 1.4826 * deviations[len(deviations) // 2]
    return sum(d > limit for d in deviations) if limit > 0 else 0


class Results:
    """Collects measurements and says what is happening on standard error."""

    def __init__(self, context):
        self.context = {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **context}
        self.benchmarks = []

    def add(self, case, peer, seconds, clock, cold=True, error=0.0):
        s = summary(seconds)
        self.benchmarks.append({
            "name": f"{case.package}/{case.name}/{peer}/{'cold' if cold else 'hot'}", "package": case.package, "case": case.name,
            "variant": peer, "tags": case.tags, "cold": cold, "clock": clock, "iterations": s["samples"],
            "real_time": s["median"] * 1e6, "time_unit": "us", "seconds": s, "largest_error": error})
        print(f"{case.name:40} {peer:32} {'cold' if cold else 'hot':5} {s['median'] * 1e6:12.2f} us  ({clock})", file=sys.stderr, flush=True)

    def missing(self, case, peer, why):
        """A peer that cannot run is reported, never fatal."""
        why = " ".join(str(why).split())[:300]
        self.benchmarks.append({
            "name": f"{case.package}/{case.name}/{peer}/cold", "package": case.package, "case": case.name, "variant": peer, "tags": case.tags,
            "cold": True, "error_occurred": True, "error_message": why})
        print(f"{case.name:40} {peer:32} not measured: {why}", file=sys.stderr, flush=True)

    def write(self, path):
        text = json.dumps({"context": self.context, "benchmarks": self.benchmarks}, indent=1)
        if path == "-":
            print(text)
        else:
            whole = pathlib.Path(f"{path}.new")      # who reads the file meanwhile finds all of it
            whole.write_text(text + "\n")
            whole.replace(path)


def relative_error(got, want):
    """Norm of the difference over the norm of the float64 reference; both are arrays of numpy or both of cupy."""
    got, want = got.astype("float64").ravel(), want.ravel()
    computed = want == want      # a reference may leave rows of large cases out, as NaN
    if not bool(computed.all()):
        got, want = got[computed], want[computed]
    norm = float((want * want).sum()) ** 0.5
    difference = got - want
    return float((difference * difference).sum()) ** 0.5 / (norm if norm > 0 else 1)


LIMITS = {"float32": 1e-4, "float16": 4e-3}


def check(outputs, expected, dtype):
    """The largest relative error in units of what the dtype allows; a peer with a wrong result is not timed."""
    worst = max(relative_error(got, want) for got, want in zip(outputs, expected))
    if not worst <= LIMITS[dtype]:
        raise ValueError(f"wrong result: relative error {worst:.3g}, at most {LIMITS[dtype]:.3g} is accepted")
    return worst / LIMITS[dtype]

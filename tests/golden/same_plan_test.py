#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How a group norm partitions its work depends neither on S nor on the spelling of skip: only then can Y have the same bits.

Usage: same_plan_test.py REPOSITORY WGK. Plans the same random images with and without S and with each spelling of skip, on profiles of devices;
the family of variants, each dispatch and each uniform must be the same.
"""
import itertools
import json
import pathlib
import random
import subprocess
import sys

REPOSITORY, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
sys.path.insert(0, str(REPOSITORY / "tools/cases"))
import random_norms  # noqa: E402

PACKAGE = REPOSITORY / "kernels/com.microsoft.SkipGroupNorm"
# Of each profile so many images; the families of variants that must be among those selected.
PROFILES = {"h200": (48, {"resident", "cooperative", "stream", "split"}), "apple": (16, {"resident", "stream"}), "llvmpipe": (16, {"narrow"})}
SIDES = [16, 24, 31, 32, 48, 63, 64, 96, 128, 192, 256, 512]
OF_KEPT_SUMS = "Kept"  # at the end of the name of a pass that reads S from where an earlier one kept it, in place of adding up again


def image_of(source):
    """batch, height, width, channels, groups: small ones around what guards compare with, and large ones as models have them."""
    if source.random() < 0.4:
        batch, height, across, width, groups = random_norms.image_of(source, 1 << 16)
        return batch, height, across, width * groups, groups
    while True:
        groups, batch, side = source.choice([1, 2, 8, 16, 32, 32, 32, 33]), source.choice([1, 2, 2, 4, 16]), source.choice(SIDES)
        across, channels = side + source.choice([0, 0, 0, 1]), groups * source.choice(random_norms.WIDTHS)
        if 300_000 < batch * side * across * channels < 30_000_000:  # within the bindings of every profile
            return batch, side, across, channels, groups


def partition(profile, inputs, attributes, with_sum):
    command = [PROGRAM, "plan", str(PACKAGE), "--caps", str(REPOSITORY / f"tests/devices/{profile}.json"), "--json", "--output=Y"]
    command += [f"--input={name}={dtype}:{','.join(map(str, shape))}" for name, (dtype, shape) in inputs.items()]
    command += [f"--attr={name}={value}" for name, value in attributes.items()] + (["--output=S"] if with_sum else [])
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    plan = json.loads(done.stdout)
    return plan["variant"].split("_")[0], [(one["id"].removesuffix(OF_KEPT_SUMS), one["dispatch"], one["uniforms"]) for one in plan["passes"]]


def check_image(profile, source):
    batch, height, across, channels, groups = image_of(source)
    last, t = source.choice([1, 1, 0]), source.choice(["float16", "float32"])
    m, bias = source.choice(["float16", "float32"]), source.random() < 0.5
    shape = [batch, height, across, channels] if last else [batch, channels, height, across]
    attributes = {"groups": groups, "activation": 1, "channels_last": last}
    found = []
    for skip, with_sum in itertools.product((shape, [batch, channels], [batch, 1, 1, channels]), (True, False)):
        inputs = {"X": (t, shape), "gamma": (m, [channels]), "beta": (m, [channels]), "skip": (t, skip)} | ({"bias": (t, [channels])} if bias else {})
        found.append(partition(profile, inputs, attributes, with_sum))
        if found[-1] != found[0]:
            sys.exit(f"{profile}, X {shape} {t}, skip {skip}, bias {bias}, {attributes}, S {with_sum}:\n  {found[-1]}\nwith skip as X and S\n  {found[0]}")
    return found[0][0]


def main():
    for profile, (count, wanted) in PROFILES.items():
        families = {check_image(profile, random.Random(f"same plan {profile} {i}")) for i in range(count)}
        if not wanted <= families:
            sys.exit(f"{profile}: {wanted - families} was never selected")
        print(f"{profile}: {count} images have one plan each, whatever the spelling of skip, with and without S ({', '.join(sorted(families))})")


main()

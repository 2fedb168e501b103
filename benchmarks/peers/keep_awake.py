# SPDX-License-Identifier: Apache-2.0
"""Keeps the cores awake while something is timed, as `wgk bench --keep-awake` does for itself."""

import contextlib
import os
import subprocess
import sys

# Virtual cores that have nothing to do are given away, and fetching one back costs more than a small dispatch. It ends with the process that started it.
LOOP = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(100000):
        pass
"""


@contextlib.contextmanager
def keep_awake(wanted=True):
    """A loop of idle priority on each core that this process may use; whatever else wants to run takes a core from it at once. Gives their processes."""
    loops = []
    try:
        for core in sorted(os.sched_getaffinity(0)) if wanted else []:
            command = [sys.executable, "-c", LOOP, str(core), str(os.getpid())]
            loops.append(subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL))
        for loop in loops:
            if not loop.stdout.readline():
                raise OSError("the cores cannot be kept awake")
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
            loop.stdout.close()

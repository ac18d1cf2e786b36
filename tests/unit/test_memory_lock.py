"""Pages that are kept in memory, and the one mapping that must not be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, resource, sys
from perfdiag.capture import memory_lock
resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))
memory_lock.stay()
os.setresuid(65534, 65534, 65534)
sys.setrecursionlimit(100_000)
nested = []
for _ in range(20_000):
    nested = [nested]
print(len(repr(nested)), open("/proc/self/status").read().split("VmLck:")[1].split()[0])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may keep more in memory than a limit")
def test_the_stack_can_still_grow_when_root_is_given_up() -> None:
    ran = subprocess.run([sys.executable, "-Ic", SCRIPT], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{ran.returncode}: {ran.stderr}"
    length, kept_kib = ran.stdout.split()
    assert int(length) == 40_002 and int(kept_kib) > 1000, "it is kept at all"

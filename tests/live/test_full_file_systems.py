"""A file system without room, in a mount namespace of its own, on which the target goes on to write."""

from __future__ import annotations

from pathlib import Path

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

MS = 1_000_000

# Fills a file system of 1 MiB and tries again and again, or writes one page to it.
WRITING = """
import ctypes, subprocess, sys, time
NEW_MOUNTS = 0x20000
assert not ctypes.CDLL(None).unshare(NEW_MOUNTS)
for command in ("mount --make-rprivate /", f"mount -t tmpfs -o size=1m tmpfs {sys.argv[1]}"):
    subprocess.run(command.split(), check=True)
log = open(f"{sys.argv[1]}/log", "wb", 0)
log.write(bytes(4096))
print(0, flush=True)
while True:
    try:
        log.write(bytes(65536) if sys.argv[2] == "all" else b"")
    except OSError:
        pass
    time.sleep(0.01)
"""


def test_a_full_file_system(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    pid, _ = cleanup.enter_context(running_server(WRITING, tmp_path, "all"))
    recording = attach(pid, only=True, duration_ns=500 * MS).wait()
    check_model(recording)
    found = fault(model_of(recording), "FS-FULL")
    assert found is not None and str(tmp_path) in found.claim
    assert f"/proc/{pid}/root{tmp_path}" in found.remedies[0].text, "its mount is in a namespace of its own"


def test_one_with_room(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    pid, _ = cleanup.enter_context(running_server(WRITING, tmp_path, "a page"))
    recording = attach(pid, only=True, duration_ns=500 * MS).wait()
    assert fault(model_of(recording), "FS-FULL") is None
    known = model_of(recording).facts.file_systems
    assert known and any((each.size_bytes, each.available_bytes) == (1 << 20, (1 << 20) - 4096) for each in known.known)

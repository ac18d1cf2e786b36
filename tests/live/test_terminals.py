"""Writers that wait until somebody reads a terminal, also in a write that never comes back."""

from __future__ import annotations

import pytest

from live.support import laws
from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

MS = 1_000_000

# Prints to a terminal that nobody reads, or that is read slowly; "now": until it is full, before it is recorded.
PRINTING = """
import os, pty, subprocess, sys, threading, time
reader, writer = pty.openpty()
if sys.argv[1] in ("slowly", "together"):
    text = "import os, time\\nwhile True: os.read(0, 64); time.sleep(0.02)"
    subprocess.Popen([sys.executable, "-c", text], stdin=reader, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(0, flush=True)
if sys.argv[1] == "later":
    time.sleep(0.9)
def write():
    while True:
        os.write(writer, b"a line\\n" * 20)
if sys.argv[1] == "together":
    threading.Thread(target=write, daemon=True).start()
write()
"""


@pytest.mark.parametrize("how", ["now", "later", "slowly", "together"])
def test_a_terminal_that_nobody_reads(how: str, attach: Attach, cleanup: Cleanup) -> None:
    """A wait that had begun before the recording, one that begins in it and does not end, and many."""
    pid, _ = cleanup.enter_context(running_server(PRINTING, how))
    recording = attach(pid, only=True, duration_ns=1500 * MS).wait()
    laws.check(recording)
    check_model(recording)
    found = fault(model_of(recording), "TTY-NOT-READ")
    assert found is not None and found.share > 0.5, found

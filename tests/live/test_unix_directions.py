"""Whose side of a unix connection the target has: whoever bound a name of its own, or has both ends, is not asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from live.support.fixtures import Attach, Cleanup, Serving
from live.support.serving import PROGRAM, exchanged, stopped

MS = 1_000_000
CALLS = 29

# Binds a name before it connects, and asks so many times when it is told to.
BOUND = """
path, count = sys.argv[1], int(sys.argv[2])
with socket.socket(socket.AF_UNIX) as connection:
    connection.bind(f"\\0client-{os.getpid()}")
    connection.connect(path)
    sys.stdin.readline()
    for _ in range(count):
        connection.sendall(b"GET /bound HTTP/1.1\\r\\n\\r\\n")
        connection.recv(100)
"""

# Asks a thread of its own over a pair of sockets, which answers after 10 ms.
PAIR = """
ours, theirs = socket.socketpair()
def answers():
    while theirs.recv(100):
        time.sleep(0.01)
        theirs.sendall(b"answer")
threading.Thread(target=answers, daemon=True).start()
sys.stdin.readline()
for _ in range(int(sys.argv[2])):
    ours.sendall(b"question")
    ours.recv(100)
"""


def asking(text: str, path: Path, cleanup: Cleanup) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", PROGRAM + "import os, socket, threading\n" + text, str(path), str(CALLS)]
    client = cleanup.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE))
    cleanup.callback(client.kill)
    return client


def test_a_client_with_a_name_calls(serving: Serving, attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    serving(f"thread_each(listening(path={str(tmp_path / 'socket')!r}), sleeps(0.02))")
    client = asking(BOUND, tmp_path / "socket", cleanup)
    recorder = attach(client.pid)
    client.communicate(b"\n")
    recording = stopped(recorder)
    assert not exchanged(recording, "accepted")
    (calls,) = exchanged(recording, "connected").values()
    assert calls.line.count == CALLS and calls.line.sum_ns >= CALLS * 20 * MS, calls.line


def test_of_a_pair_no_end_is_asked(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    client = asking(PAIR, tmp_path, cleanup)
    recorder = attach(client.pid)
    client.communicate(b"\n")
    recording = stopped(recorder)
    assert not exchanged(recording, "accepted") and not exchanged(recording, "connected")

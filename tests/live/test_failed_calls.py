"""Which call fails before a thread sleeps: told with its error and what it was for, as often as it slept."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from live.support.calling import running_client, running_command, running_server, watched
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of

pytestmark = pytest.mark.quiet  # calls of others end what is looked at here

PAUSE_NS, WINDOW_NS = 50_000_000, 1_500_000_000
TRY_AGAIN = """
import fcntl, os, select, socket, sys, time
path, pause_s = sys.argv[1], float(sys.argv[2])
held = open(path, "w")
fcntl.flock(held, fcntl.LOCK_EX)
other, poller = open(path), select.poll()
print(0, flush=True)
while True:
    try:
        {tries}
    except OSError:
        {sleeps}
"""
SLEEP = "time.sleep(pause_s)"
EXCLUSIVE = "os.open(path, os.O_CREAT | os.O_EXCL)"
LOCK = "fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)"


@pytest.mark.parametrize(
    ("tries", "call", "error", "what"),
    [
        (EXCLUSIVE, "openat", errno.EEXIST, "file named"),
        ("os.link(path, path)", "link", errno.EEXIST, "file named"),
        (LOCK, "flock", errno.EAGAIN, "file named"),
        ("socket.socket().bind(('198.51.100.7', 1080))", "bind", errno.EADDRNOTAVAIL, "198.51.100.7:1080"),
        ("os.link(path, '/proc/1/')", "link", errno.EEXIST, "1"),
    ],
)
def test_the_call_before_a_sleep(
    tries: str, call: str, error: int, what: str, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    path = tmp_path / "file named"
    text = TRY_AGAIN.format(tries=tries, sleeps=SLEEP)
    pid, _ = cleanup.enter_context(running_server(text, path, PAUSE_NS / 1e9))
    model = watched(attach, pid, WINDOW_NS)
    (line,) = [each for each in model.failed_calls if each.call == f"syscall:{call}"]
    assert (line.pid, line.error) == (pid, error) and what in line.object + line.file, line
    sleeps = sum(thread.accounts["wait.timer"].count for thread in model.threads)
    assert sleeps - 4 <= line.sleeps <= sleeps and line.sum_ns >= line.sleeps * PAUSE_NS, (line, sleeps)
    assert line.max_ns * line.sleeps >= line.sum_ns, "the first sleep may be the longest"
    (found,) = [each for each in diagnose(model).findings if each.id == "CALL-RETRIED"]
    assert f"{call}() of" in found.headline, found
    assert found.severity is (Severity.INFO if call == "rmdir" else Severity.WARNING), "who tidies up goes on"


@pytest.mark.parametrize("sleeps", ["poller.poll(pause_s * 1000)", "select.select([], [], [], pause_s)"])
def test_a_wait_for_events_whose_time_is_up_is_a_sleep(
    sleeps: str, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    text = TRY_AGAIN.format(tries=LOCK, sleeps=sleeps)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    (line,) = watched(attach, pid, WINDOW_NS).failed_calls
    assert line.call == "syscall:flock" and line.sleeps > 1, line


@pytest.mark.parametrize(("depth", "name"), [(8, "the end"), (9, "")])
def test_of_a_long_path_the_end_is_told_if_it_was_read(
    depth: int, name: str, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    deep = "/".join(["/proc", *["../proc"] * depth, "the end"])
    text = TRY_AGAIN.format(tries=f"os.rmdir({deep.ljust(100 if name else 120, '/')!r})", sleeps=SLEEP)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    (line,) = watched(attach, pid, WINDOW_NS).failed_calls
    assert (line.call, line.file) == ("syscall:rmdir", name)


UNTERMINATED = (
    "name = b'\\x01\\0' + path.encode(); end = len(name); "
    "assert not ctypes.CDLL(None).bind(s.fileno(), name + b'-password=hunter2', end)"
)


@pytest.mark.parametrize(
    ("tries", "file"),
    [
        (f"s = socket.socket(socket.AF_UNIX); {UNTERMINATED}", "file named"),
        ("os.rmdir('https://alice:hunter2@host/callback?code=hunter2')", ""),
        ("os.rmdir('data:text/plain,hunter2')", ""),
        ("os.rmdir('https:/host/callback')", ""),
        ("os.rmdir('alice:hunter2@host')", ""),
        ("os.rmdir('/proc/callback?code=hunter2')", "callback"),
    ],
)
def test_nothing_is_kept_behind_a_name(tries: str, file: str, tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    text = TRY_AGAIN.format(tries=tries, sleeps=SLEEP).replace("import", "import ctypes,", 1)
    text = text.replace("except OSError", "except (OSError, AssertionError)")
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "file named", PAUSE_NS / 1e9))
    lines = [
        each for each in watched(attach, pid, WINDOW_NS).failed_calls if each.call in ("syscall:bind", "syscall:rmdir")
    ]
    assert [each.file for each in lines] == [file], lines


def test_a_missing_file_does_not_count_behind_a_lock(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    text = TRY_AGAIN.format(tries=LOCK, sleeps=f"os.path.exists(path + '.missing'); {SLEEP}")
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    (line,) = watched(attach, pid, WINDOW_NS).failed_calls
    assert line.call == "syscall:flock", line


def test_a_look_at_events_behind_another_wait_is_no_sleep(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    text = TRY_AGAIN.format(tries=LOCK, sleeps="os.read(turns, 1); poller.poll(0)").replace(
        "print(0",
        """turns, end = os.pipe()
if not os.fork():
    os.close(turns)
    while os.write(end, b"."):
        time.sleep(pause_s)
print(0""",
    )
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    assert not watched(attach, pid, WINDOW_NS).failed_calls


def test_what_succeeds_for_the_next_of_several_is_not_waited_for(
    tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    """Workers take the first slot that is free, do their work, and pause."""
    free = f"third = open(path + '.free', 'w'); fcntl.flock(third, fcntl.LOCK_EX); third.close(); {SLEEP}"
    text = TRY_AGAIN.format(tries=LOCK, sleeps=free)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    assert not watched(attach, pid, WINDOW_NS).failed_calls


ADDRESS = "fcntl.ioctl(s, 0x8915, {!r}.ljust(40, bytes(1)))"  # SIOCGIFADDR


@pytest.mark.parametrize(
    ("tries", "sleeps"),
    [
        ("socket.socket(socket.AF_X25)", f"socket.socket().close(); {SLEEP}"),  # another family of addresses
        (f"s = socket.socket(); {ADDRESS.format(b'lo')}; {ADDRESS.format(b'none')}", SLEEP),  # all interfaces in turn
    ],
)
def test_what_succeeds_in_another_way_is_not_waited_for(
    tries: str, sleeps: str, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    text = TRY_AGAIN.format(tries=tries, sleeps=sleeps)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    assert not watched(attach, pid, WINDOW_NS).failed_calls


# Each request fails to take the lock, and sleeps; in vain it tries so often.
SERVER = """
import fcntl, socket, sys, time
held, other = open(sys.argv[1], "w"), open(sys.argv[1])
fcntl.flock(held, fcntl.LOCK_EX)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while connection.recv(4096):
    for _ in range(int(sys.argv[2])):
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.03)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
"""


@pytest.mark.parametrize("tries", [1, 2])
def test_what_fails_in_the_next_request_is_not_tried_again(
    tries: int, tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    """A handler goes on without an optional lock, and sleeps for another reason."""
    pid, port = cleanup.enter_context(running_server(SERVER, tmp_path / "lock", tries))
    cleanup.enter_context(running_client(port))
    model = watched(attach, pid, WINDOW_NS)
    served = sum(each.line.count for each in model.exchanges if each.served)
    assert served > 5, model.exchanges
    sleeps = sum(line.sleeps for line in model.failed_calls)
    assert sleeps == 0 if tries == 1 else 2 * served - 4 <= sleeps <= 2 * served + 4


def test_one_failure_is_not_tried_again(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    """A program that looks for its locale in vain, and then sleeps, does not wait for that."""
    text = TRY_AGAIN.format(tries="pause_s > 1 or os.stat(path + '.missing')", sleeps=f"{SLEEP}; pause_s = 2")
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", 0.9))
    assert not watched(attach, pid, WINDOW_NS).failed_calls


def test_sleep_without_a_failure_follows_none(tmp_path: Path, cleanup: Cleanup, attach: Attach) -> None:
    text = TRY_AGAIN.format(tries="os.stat(path); raise OSError", sleeps=SLEEP)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    assert not watched(attach, pid, WINDOW_NS).failed_calls


def test_results_are_not_read_any_more_where_there_are_very_many(
    tmp_path: Path, cleanup: Cleanup, attach: Attach
) -> None:
    """The neighbour makes some hundred thousand calls a second."""
    busy = ["sh", "-c", "echo 0; exec dd if=/dev/zero of=/dev/null bs=1 status=none"]
    cleanup.enter_context(running_command(busy))
    text = TRY_AGAIN.format(tries=LOCK, sleeps=SLEEP)
    pid, _ = cleanup.enter_context(running_server(text, tmp_path / "lock", PAUSE_NS / 1e9))
    model = model_of(attach(pid, duration_ns=2 * WINDOW_NS).wait())
    assert model.footer and model.footer.calls_watched_until_ns is not None
    assert model.footer.calls_watched_until_ns < model.header.start_ns + 2 * WINDOW_NS


def test_every_try_is_counted(start: Start, record: Record, tmp_path: Path) -> None:
    recording, truth = record(start("retry", "--file", tmp_path / "retry.lock"))
    (line,) = recording.of(schema.FailedCall)
    assert recording.footer.calls_watched_until_ns is None, "this host makes very many system calls"
    assert (line.call, line.error, line.sleeps) == ("syscall:flock", errno.EAGAIN, truth["count"])
    assert line.object.endswith(":retry.lock") and line.sum_ns == pytest.approx(truth["slept_ns"], rel=0.02)

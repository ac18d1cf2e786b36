"""The end of a window takes its time, while the target goes on: what is read last agrees with what was read first."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from perfdiag.recording import schema

from live.support.fixtures import Start
from live.support.recorder import Recorder
from live.support.recording import Recording
from live.support.workload import PATIENCE_SECONDS, Workload

STALL_SECONDS = 1.5


class SlowReader(threading.Thread):
    """Keeps what a recorder writes into a pipe, but does something else once the last rows of threads arrive.

    The rows do not fit into the recorder's buffer: meanwhile it is held up between two of them.
    """

    def __init__(self, directory: Path, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self.pipe, self.kept = directory / "pipe", directory / "recording.jsonl"
        os.mkfifo(self.pipe)
        self._fd = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)  # before the writer, who would wait for it
        self._meanwhile = meanwhile

    def run(self) -> None:
        held_up = False
        os.set_blocking(self._fd, True)
        with open(self._fd, "rb") as pipe, self.kept.open("wb") as kept:
            for line in pipe:
                if line.startswith(b'{"type":"thread"') and not held_up:
                    held_up = True
                    self._meanwhile()
                kept.write(line)


def recorded(workload: Workload, directory: Path, meanwhile: Callable[[], None]) -> Recording:
    """Record a second of a workload, and let something happen between the last rows of two of its threads."""
    reader = SlowReader(directory, meanwhile)
    with Recorder([workload.pid], reader.pipe) as recorder:
        reader.start()
        time.sleep(1)
        recorder.tell("stop")
        recorder.expect("done")
        assert recorder.process.wait(PATIENCE_SECONDS) == 0, recorder.said()
    reader.join(PATIENCE_SECONDS)
    recording = Recording(reader.kept)
    last = [row.at_ns for row in recording.threads]
    assert max(last) - min(last) > 0.2e9, "it was not held up between the rows"
    return recording


def start_many(start: Start, threads: int, *arguments: object) -> Workload:
    workload = start("many_threads", "--threads", threads, "--duration-ms", 60_000, *arguments)
    workload.start()
    workload.await_threads(threads + 1)
    return workload


def test_waits_that_go_on_while_the_last_rows_are_written(start: Start, tmp_path: Path) -> None:
    """Each thread waits for more than its record has room for: the rest is in a table that is read at the very end."""
    waiters = start_many(start, 211, "--futexes", 31, "--period-ms", 40)
    recording = recorded(waiters, tmp_path, lambda: time.sleep(STALL_SECONDS))
    accounts_ns: Counter[str] = Counter()
    rows_ns: Counter[str] = Counter()
    for total in (total for row in recording.threads for total in row.accounts):
        accounts_ns[total.account] += total.sum_ns
    for row in recording.of(schema.Detail):
        rows_ns[row.account] += row.sum_ns
    assert accounts_ns["wait.parked"] > 0.5 * recording.wall_ns, "the threads did not wait for futexes"
    assert rows_ns <= accounts_ns
    assert rows_ns == accounts_ns or recording.footer.lost["detail_full"]


def test_threads_that_end_after_their_last_row_count_once(start: Start, tmp_path: Path) -> None:
    """More of them end than the ring has room for: those that had a row were added to the sum of the others again."""
    target = start_many(start, 601, "--period-ms", 100)

    def end_it() -> None:
        time.sleep(0.5)
        target.process.kill()
        time.sleep(STALL_SECONDS)

    recording = recorded(target, tmp_path, end_it)
    assert sum(row.state == "exited" for row in recording.threads), "none ended before its last row"
    assert recording.footer.threads_seen == 602
    assert len(recording.threads) + sum(fold.threads for fold in recording.folds) == 602

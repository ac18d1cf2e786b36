"""The file of a recording: created with the rights of the caller, readable only for them, never through a link.

Only a child process opens and writes it: its file system may die in the window, and any process that closes the file,
or ends with it open, then hangs. The recorder writes to a pipe to that child, which finishes even if nobody waits.
"""

import fcntl
import json
import os
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from perfdiag.capture.file_writer import BEGIN, CLOSING, ELSEWHERE, READING, Progress, keep, unlink
from perfdiag.capture.recorder import DIED, OUTPUT_CLOSED
from perfdiag.common import deadline, privileges
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.common.text import printable, typed_path

OPEN_DEADLINE_S = 5
CLOSE_DEADLINE_S = 5  # without any progress
CLOSE_LIMIT_S = 30  # in all: a slow file system is not waited for to its end
LOOK_S = 0.1
UNLINK_DEADLINE_S = 1
SILENCE = "its file system has not answered for {} s"


@dataclass(frozen=True)
class Keeper:
    """The child that has the file open; `identity` is device and inode of the file."""

    child: deadline.Child
    progress: Progress
    identity: tuple[int, int]

    def last_answer(self, *, recorder_ended: bool) -> bytes:
        """Wait for the result while anything moves; b"" if the child was killed. Raises TimeoutError with the
        reason."""
        moved_at = began = time.monotonic()
        before = self._state()
        while True:
            try:
                return self.child.receive(time.monotonic() + LOOK_S)[0]
            except TimeoutError:
                now, state = time.monotonic(), self._state()
                if state != before:
                    before, moved_at = state, now
                silent = now - moved_at >= CLOSE_DEADLINE_S
                if silent or now - began >= CLOSE_LIMIT_S:
                    raise TimeoutError(self._waits_for(silent=silent, recorder_ended=recorder_ended)) from None

    def _state(self) -> tuple[int, int]:
        return self.progress.size_bytes, self.progress.doing

    def _waits_for(self, *, silent: bool, recorder_ended: bool) -> str:
        size_bytes, doing = self._state()
        written = f"{'all ' * (doing == CLOSING)}{size_bytes:,} bytes written"
        if self.child.is_stopped():
            return f"{written}, its writer is stopped"
        if doing == READING:
            return f"{written}, {'its writer does not run' if recorder_ended else 'the recorder still holds it'}"
        if silent:
            return f"{written}, {SILENCE.format(CLOSE_DEADLINE_S)}"
        return f"{written}, its file system is slow: not finished in {CLOSE_LIMIT_S} s"


@dataclass(frozen=True)
class OutFile:
    """An open recording file; the recorder writes to a copy of `fd`, which leads to the child or standard output."""

    path: str
    fd: int
    created: bool
    keeper: Keeper | None = None

    def begin(self) -> None:
        """Let the recorder's output into the file; until then an older file stays as it was."""
        if self.keeper:
            self.keeper.child.tell(BEGIN)

    def discard(self) -> None:
        """Remove a file that was created for a recording that was not made."""
        os.close(self.fd)
        if self.keeper:
            self.keeper.child.end()
            self._take_back(self.keeper)

    def _take_back(self, keeper: Keeper) -> None:
        """Remove the file; that can fail after root is given up."""
        if self.created:
            with (
                suppress(TimeoutError),
                deadline.child(partial(_take_back, self.path, keeper.identity)) as receive,
            ):
                receive(time.monotonic() + UNLINK_DEADLINE_S)

    def check(self, why: str | None = None, *, recorder_ended: bool = True) -> int:
        """Return the size in bytes of a complete recording; raise PerfdiagError if it is cut short. `why` is the
        recorder's reason."""
        assert self.keeper, "standard output is no file"
        os.close(self.fd)
        name, to_read = printable(self.path), f"perfdiag report {typed_path(self.path)}"
        try:
            answer = self.keeper.last_answer(recorder_ended=recorder_ended)
        except TimeoutError as error:
            pid = self.keeper.child.pid
            hint = f"process {pid} continues and ends by itself (kill -KILL {pid} abandons the file); then: {to_read}"
            if self.keeper.child.is_stopped():
                hint = f"let it continue with kill -CONT {pid}; then: {to_read}"
            raise PerfdiagError(f"it is unknown whether {name} is complete: {error}", hint) from error
        finally:  # it is never ended here: what is still in the pipe would be lost
            self.keeper.child.leave()
        if not answer and not self.keeper.progress.size_bytes:
            self._take_back(self.keeper)
            raise PerfdiagError(f"nothing was written to {name}: the process that writes it was killed", "record again")
        if not answer:
            raise PerfdiagError(
                f"{name} is cut short: the process that writes it was killed", f"read what is there: {to_read}"
            )
        told = json.loads(answer)
        if told["moved"]:
            name, to_read = printable(told["moved"]), f"perfdiag report {typed_path(told['moved'])}"
        moved = f"; {printable(self.path)} does not lead there any more" if told["moved"] else ""
        if told["meddled"]:
            raise PerfdiagError(f"{name} is lost: {told['meddled']}", "record again, to a file of its own")
        if not told["complete"]:
            why = told["error"] or why or "the recorder ended before its end"
            if not told["size"]:
                gone = f", and the {told['replaced']:,} bytes it held are gone" if told["replaced"] else ""
                raise PerfdiagError(f"nothing was written to {name}{gone}: {why}", told["hint"] or "record again")
            raise PerfdiagError(
                f"{name} is cut short after {told['size']:,} bytes: {why}{moved}",
                f"read what is there: {to_read}",
            )
        if moved:
            raise PerfdiagError(f"the recording is now in {name}{moved}", to_read)
        return int(told["size"])

    def check_report(self) -> None:
        """Raise PerfdiagError if a report was not written completely."""
        assert self.keeper, "standard output is no file"
        os.close(self.fd)
        name, again = printable(self.path), "write it again, to a file of its own"
        try:
            told = json.loads(self.keeper.last_answer(recorder_ended=True) or "{}")
        except TimeoutError as error:
            raise PerfdiagError(f"it is unknown whether {name} is complete: {error}", again) from error
        finally:
            self.keeper.child.leave()
        if not told:
            raise PerfdiagError(f"{name} is cut short: the process that writes it was killed", again)
        if told["meddled"] or told["moved"]:
            moved = f"it is now {printable(told['moved'] or '')}"
            raise PerfdiagError(f"{name} is lost: {told['meddled'] or moved}", again)
        if told["error"] or not told["size"]:
            is_now = "is as it was" if told.get("kept") else "is cut short"
            raise PerfdiagError(f"{name} {is_now}: {told['error'] or 'nothing was written'}", told["hint"] or again)

    def check_stream(self, reason: str, why: str | None = None) -> None:
        """Raise PerfdiagError if a recording on standard output is cut short, also by its reader: half a recording is
        damaged."""
        if reason in (DIED, OUTPUT_CLOSED):
            raise PerfdiagError(
                f"the recording is cut short{f': {why}' if why else ''}",
                "write it to a file with -o, on a file system with room",
            )


def create(path: str, *, whole: bool = False) -> OutFile:
    """Open `path` for a recording: a new file, or a regular file of the invoking user, which is emptied by the first
    byte after begin(); "-" is standard output. With `whole`, an older file is replaced by a whole one, or stays as it
    was.

    Under sudo, the user behind it opens and creates it. Raises PerfdiagError if anything else is there, or if its file
    system does not answer.
    """
    name = printable(path)
    if not path:
        raise UsageError("the file to record to has no name", "give one: record -o FILE, latency --record FILE")
    if path == "-":
        # Read-only is also what the launcher puts where it is closed.
        if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise PerfdiagError("standard output is closed, or open for reading only", "give a file: record -o FILE")
        if os.isatty(1):
            raise UsageError("a recording cannot be written to a terminal", "write it to a file, or into a pipe")
        return OutFile(path, os.dup(1), created=False)
    progress = Progress.shared()
    child = deadline.Child(partial(keep, path, progress, whole=whole))
    with ExitStack() as undo:
        undo.callback(child.end)
        try:
            answer, descriptors = child.receive(time.monotonic() + OPEN_DEADLINE_S)
        except TimeoutError as error:
            raise PerfdiagError(f"cannot write {name}: {SILENCE.format(OPEN_DEADLINE_S)}", ELSEWHERE) from error
        told = json.loads(answer or "{}")
        if not descriptors:
            killed = f"cannot write {name}: the process that opens it was killed"
            raise PerfdiagError(told.get("message", killed), told.get("hint"))
        undo.pop_all()
    return OutFile(path, descriptors[0], told["created"], Keeper(child, progress, (told["device"], told["inode"])))


def _take_back(path: str, identity: tuple[int, int], _answers: socket.socket) -> None:
    privileges.become_caller()
    unlink(path, identity)

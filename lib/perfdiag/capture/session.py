"""One recording from beginning to end, for `latency` and `record`."""

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from perfdiag.capture import memory_lock, output_file, processes, progress, target
from perfdiag.capture import recorder as record
from perfdiag.capture.held_command import HeldBack
from perfdiag.capture.output_file import OutFile
from perfdiag.capture.recorder import Recorder, Window
from perfdiag.capture.target import Target, Wanted
from perfdiag.common import privileges
from perfdiag.common.deadline import is_stopped
from perfdiag.common.errors import PerfdiagError, TargetGone
from perfdiag.common.text import printable
from perfdiag.common.units import duration as shown_duration

MESSAGE_LIMIT = 500
NOTE = "note: "  # a line of the recorder's that is no warning
HELD_LIMIT = 64  # processes that are held by a descriptor: there may be few of these
GRACE_S = 2.0  # what a command gets to end after Ctrl-C, which it received too


@dataclass
class Session:
    """A recording that has been made."""

    recorder: Recorder
    file: OutFile | None
    held_back: HeldBack | None
    signals: list[int]
    reason: str
    cut_short: str | None  # why the recording is, where no check of a file tells it

    @property
    def recorder_ended(self) -> bool:
        """Whether the recorder has closed the file; False: it hangs, or is stopped."""
        return self.reason != record.DIED or self.recorder.wait_exit(0) is not None

    def check(self) -> None:
        """Raise PerfdiagError if the recorder did not write its recording to the end: a script must not take half a
        window for all of it."""
        if self.cut_short:
            hint = "the report covers only what was written; record again"
            raise PerfdiagError(f"the recording is cut short: {self.cut_short}", hint)

    def conclude(self, *steps: Callable[[], int | None]) -> int:
        """Take each step (report, check of the file), whatever becomes of the others, and wait for the command.

        Return the command's exit status, else that of the last step that failed. Raises the first error of a step, with
        the command's status; the others are printed here, and so is the first if the command takes long.
        """
        status, errors = 0, list[Exception]()
        for step in steps:
            try:
                status = step() or status
            except Exception as error:
                errors.append(error)
        runs = self.held_back is not None and self.held_back.status(0) is None
        for failed in errors[0 if runs else 1 :]:
            hint = failed.hint if isinstance(failed, PerfdiagError) else None
            progress.say(f"warning: {printable(str(failed), MESSAGE_LIMIT)}", *([f"HINT: {hint}"] if hint else []))
        command_status = self.command_status()
        if errors:
            if isinstance(errors[0], PerfdiagError):
                errors[0].exit_status = command_status or errors[0].exit_status
            raise errors[0]
        return command_status or status

    def command_status(self) -> int:
        """Return the exit status of the command measured, 0 without one.

        Waits for it, unless perfdiag itself was told to end: then it may stay behind.
        """
        if self.held_back is None:
            return 0
        status = self.held_back.status(0 if not self.signals else GRACE_S)
        if status is None:
            progress.tell(f"perfdiag: {self.held_back.name} (pid {self.held_back.pid}) is still running")
            status = 0 if self.signals else self.held_back.status(None)
        return status or 0


def run(wanted: Wanted, window: Window, path: str | None, command_stdout_fd: int) -> Session:
    """Record into memory and, with `path`, into a file; afterwards this process is no longer root.

    Everything needed later must be imported. Raises the error that prevents the recording.
    """
    recorder = Recorder.inherited()
    target.check_namespaces()
    held_back = HeldBack(wanted.command, command_stdout_fd) if wanted.command else None
    what = _target(wanted, window, held_back)
    held = {pid: pidfd for pid in what.pids[:HELD_LIMIT] if (pidfd := processes.pidfd(pid)) is not None}
    file = output_file.create(path) if path is not None else None
    try:
        recorder.wait_loaded()  # not before: what is asked for wrongly needs no programs in the kernel to be refused
        length = f"for {shown_duration(window.duration_ns)}" if window.duration_ns else "until its end or Ctrl-C"
        with progress.shown(window.duration_ns) as tick:
            memory_lock.stay()
            with record.ended_by_signals(recorder.stop) as signals:
                try:
                    recorder.start(what, held_back.pid if held_back else None, window, file.fd if file else None)
                    _check_same(held)
                    # Not before: the recorder may refuse what the options ask for.
                    began = f"perfdiag: recording {what.description}, {length}"
                    progress.tell(*(f"note: {note}" for note in what.notes), began)
                    _tell(recorder, NOTE)
                    if held_back:
                        held_back.release()
                    if file:
                        file.begin()  # not before: an exec can fail that late
                except PerfdiagError as error:
                    if signal.SIGINT in signals:  # of which that comes
                        raise KeyboardInterrupt from error
                    raise
                privileges.drop()

                def over() -> bool:
                    return bool(signals) or (held_back is not None and held_back.status(0) is not None)

                reason = recorder.wait_done(window.duration_ns, tick, over, held_back.pidfd if held_back else None)
    except BaseException:
        if file:
            file.discard()
        raise
    _tell(recorder, "warning: ")
    cut_short = _why_cut_short(recorder, reason)
    if file and cut_short and reason == record.DIED:
        progress.say(f"warning: {cut_short}")  # the check of the file says what is there
    return Session(recorder, file, held_back, signals, reason, None if file else cut_short)


def _target(wanted: Wanted, window: Window, held_back: HeldBack | None) -> Target:
    """Return what is recorded: a command that has not begun yet, the host, or processes that run."""
    if held_back:
        descendants = "" if window.only else " with its descendants"
        return Target(f"{held_back.name} (pid {held_back.pid}){descendants}", ())
    return Target("all tasks of this host", ()) if window.host else target.resolve(wanted)


def _check_same(held: Mapping[int, int]) -> None:
    """Close pidfds of processes, by pid. Raises TargetGone if a pid is another's: the recorder knows pids alone."""
    others = [pid for pid, pidfd in held.items() if processes.is_another(pid, pidfd)]
    for pidfd in held.values():
        os.close(pidfd)
    if others:
        raise TargetGone(f"pid {others[0]} ended before anything was measured, and is another process by now")


def _tell(recorder: Recorder, kind: str) -> None:
    """Print messages of one kind, and all of the recorder's if asked for."""
    everything, said = bool(os.environ.get("PERFDIAG_DEBUG")), recorder.messages()
    say = progress.tell if kind == NOTE and not everything else progress.say
    say(*(line for line in said if everything or line.startswith(kind)))


def _why_cut_short(recorder: Recorder, reason: str) -> str | None:
    """Return why the recorder did not write its recording to the end, None if it did."""
    if reason == record.OUTPUT_CLOSED:
        return recorder.cut_off() or "its reader has closed it"
    if reason != record.DIED:
        return None
    status = recorder.wait_exit(0.5)
    if status is not None and status < 0:
        return f"the recorder was ended by {signal.Signals(-status).name}"
    if status is None and is_stopped(recorder.pid):
        return record.STOPPED
    return recorder.last_error() or "the recorder failed at its end"

"""One recording from beginning to end, as `latency` and `record` both need it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from perfdiag import outfile, privileges, progress, record, resident, target
from perfdiag.errors import PerfdiagError
from perfdiag.heldback import HeldBack
from perfdiag.outfile import OutFile
from perfdiag.record import Recorder, Window
from perfdiag.target import Target, Wanted
from perfdiag.text import printable
from perfdiag.units import duration as shown_duration

MESSAGE_LIMIT = 500
GRACE_S = 2.0  # what a command gets to end after Ctrl-C, which it received too


@dataclass
class Session:
    """A recording that has been made."""

    recorder: Recorder
    file: OutFile | None
    held_back: HeldBack | None
    signals: list[int]
    reason: str

    def conclude(self, *steps: Callable[[], int | None]) -> int:
        """Take each step (report, check of the file), whatever becomes of the others, and wait for the command.

        Return the command's exit status, else the last step's that is not 0.  Raises what a step raised: the first,
        with the command's status; the others are told here, and the first too where the command takes its time.
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
            progress.say(f"perfdiag: {self.held_back.name} (pid {self.held_back.pid}) is still running")
            status = 0 if self.signals else self.held_back.status(None)
        return status or 0


def run(wanted: Wanted, window: Window, path: str | None, command_stdout_fd: int) -> Session:
    """Record into memory and, with `path`, into a file; afterwards this process is not root any more.

    Everything needed later must be imported.  Raises what keeps the recording from being made.
    """
    recorder = Recorder.inherited()
    target.check_namespace()
    recorder.wait_loaded()
    if wanted.command:
        held_back = HeldBack(wanted.command, command_stdout_fd)
        descendants = "" if window.only else " with its descendants"
        what = Target(f"{held_back.name} (pid {held_back.pid}){descendants}", ())
    elif window.host:
        held_back, what = None, Target("all tasks of this host", ())
    else:
        held_back, what = None, target.resolve(wanted)
    file = outfile.create(path) if path is not None else None
    try:
        length = f"for {shown_duration(window.duration_ns)}" if window.duration_ns else "until its end or Ctrl-C"
        progress.say(*(f"note: {note}" for note in what.notes), f"perfdiag: recording {what.description}, {length}")
        with progress.shown(window.duration_ns) as tick:
            resident.stay()
            with record.ended_by_signals(recorder.stop) as signals:
                try:
                    recorder.start(what, held_back.pid if held_back else None, window, file.fd if file else None)
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
    _tell(recorder, reason, file)
    return Session(recorder, file, held_back, signals, reason)


def _tell(recorder: Recorder, reason: str, file: OutFile | None) -> None:
    """Print the recorder's warnings, why its recording is cut short (of a file that is told when it is checked), and
    everything it said when that was asked for."""
    everything, said = bool(os.environ.get("PERFDIAG_DEBUG")), recorder.messages()
    progress.say(*(line for line in said if everything or line.startswith("warning: ")))
    if reason == record.OUTPUT_CLOSED and not file:
        why = recorder.cut_off() or "nothing took it any more"
        progress.say(f"warning: the recording is cut short ({why}): what was written until then is used")
    elif reason == record.DIED:
        status = recorder.wait_exit(0.5)
        signalled = status is not None and status < 0
        how = f"was ended by {signal.Signals(-status).name}" if status is not None and signalled else "did not end well"
        progress.say(f"warning: the recorder {how}: what it had written until then is used")


__all__ = ["run"]

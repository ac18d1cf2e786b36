"""Makes a case for real in a guest of the lab: what the target needs, the target, the recorder, what runs beside it."""

from __future__ import annotations

import contextlib
import itertools
import json
import shlex
import shutil
from pathlib import Path

import msgspec
from perfdiag.recording import schema

from incidents.support.incident import DELAYS, Case, Incident
from lab.support.guest import Guest
from lab.support.nfs import nfs
from lab.support.processes import GuestRecorder, Process
from live.support.recording import Recording

FUNCTIONS = Path(__file__).with_name("stage.sh")
PATIENCE_MS = 20_000  # an emulated machine on a busy host
MANY_LATE = 10  # of some 300: what remains is told as not measured
numbers = itertools.count(1)


class Busy(Exception):
    """The guest was too slow for a recording that can be judged."""


class Made(msgspec.Struct, frozen=True):
    """A recording on this host, and what its target said of itself."""

    recording: Path
    truth: dict[str, float]


def make(guest: Guest, incident: Incident, case: Case, output: Path) -> Made:
    """Make one case in a guest and record it; `output` is where the recording goes.

    Raises Busy when the recorder could not read about the host in time, AssertionError or RuntimeError, with what was
    said, for whatever else could not be done.
    """
    here = guest.folder / case.incident
    shutil.copy(FUNCTIONS, guest.folder)
    shutil.copytree(case.folder, here, dirs_exist_ok=True)
    folder = f"/var/tmp/incident-{next(numbers)}"
    with contextlib.ExitStack() as cleanup:
        settings = {"folder": folder, "here": f"/lab/{case.incident}"}
        if incident.nfs:
            delays = {name.removeprefix("NFS_").lower(): int(case.settings.get(name, 0)) for name in DELAYS}
            options = str(case.settings.get("NFS_OPTIONS", ""))
            settings["mount"] = str(cleanup.enter_context(nfs(guest, options=options, **delays)).mountpoint)
        # One after the other, as a setting may stand in another.
        known = "".join(f'export {name}="{value}"\n' for name, value in {**settings, **case.settings}.items())
        known += f". /lab/{FUNCTIONS.name}\n"
        cleanup.callback(guest.tidy, f"rm -rf {folder}")
        if incident.down:
            cleanup.callback(guest.tidy, f"{known}cd {folder}\n{incident.down}")
        guest.run(f"{known}mkdir {folder}; cd {folder}\n{incident.up}")
        target = _start(cleanup, guest, incident.target, f"{known}cd {folder}", "[ -s out ]")
        if incident.enter:
            guest.run(f"{known}pid={target.process_pid}\n{incident.enter}")
        recorder = cleanup.enter_context(
            GuestRecorder(
                guest,
                [target.process_pid],
                output.name,
                only="--only" in incident.options,
                stacks="--stacks" in incident.options,
                duration_ns=round(incident.seconds * 1e9),
                patience_ms=PATIENCE_MS,
            )
        )
        for command in incident.beside:  # one that has nothing to do may be over before anybody looks
            waits = f"sh -c {shlex.quote(f'{command} && exec sleep infinity')}"
            _start(cleanup, guest, waits, f"{known}cd {folder}", "[ -s pid ]")
        # It reads about the host first; what runs in a guest besides the target is a neighbour of the target.
        recorder.here("""until grep -q '"interval"' out || [ -s status ]; do sleep 0.2; done""")
        guest.run(f"printf 'g\\n' >{target.folder}/in; {recorder.ended}")
        recording = recorder.wait()
        truth = {} if incident.seconds else _truth(target, case.status)
    late = [fact for fact in recording.of(schema.Fact) if fact.error == "timeout"]
    if len(late) >= MANY_LATE:
        raise Busy(f"{len(late)} facts of the guest could not be read in time: is this host busy?")
    return Made(_keep(recording, output), truth)


def _start(cleanup: contextlib.ExitStack, guest: Guest, command: str, prepare: str, until_ready: str) -> Process:
    words = ["sh", "-c", f"exec {command}"]  # which puts in the settings
    return cleanup.enter_context(Process(guest, words, prepare, until_ready))


def _truth(target: Process, status: int) -> dict[str, float]:
    """Return the numbers of the last line of the target, none where that is no JSON."""
    assert target.end() == status, target.here("tail -n 20 out err")
    said = target.here("tail -n 1 out")
    with contextlib.suppress(ValueError, OverflowError, RecursionError):
        found = json.loads(said)
        if isinstance(found, dict):
            return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}
    return {}


def _keep(recording: Recording, output: Path) -> Path:
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(recording.path, output)
    return output


__all__ = ["Busy", "Made", "make"]

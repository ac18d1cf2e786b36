"""`make incidents`: makes every incident for real, and holds the first finding of its report against what was done.

    run.py --kernel NAME --output DIRECTORY [--only REGEX] [--keep DIRECTORY] [DIRECTORY]

Prints progress on standard error; at the end, or when it is interrupted, every result, a confusion matrix and the sums
on standard output, and writes them to results.json.  Exit status 1 if a fault is not ranked first, a healthy twin
alarms, or something could not be made.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib")]

import msgspec  # noqa: E402
from perfdiag.report.contract import Report  # noqa: E402

from conftest import forget_who_started_us  # noqa: E402
from incidents.support import table  # noqa: E402
from incidents.support.expressions import ExpressionError  # noqa: E402
from incidents.support.fixtures import Shrunk, keep  # noqa: E402
from incidents.support.incident import Case, Incident, IncidentError, cases, find, read  # noqa: E402
from incidents.support.judge import Result, correct, failed, judge  # noqa: E402
from incidents.support.stage import Busy, Made, make  # noqa: E402
from lab.support.guest import Guest, kernels, missing  # noqa: E402

OWN = ROOT / "tests" / "incidents"
REPORT_SECONDS = 60
ATTEMPTS, BUSY_SECONDS = 3, 5
# The CPUs of the lab declare deep idle states: a fault of its own, for the incident that is about them.
SHALLOW = """
for state in /sys/devices/system/cpu/cpu*/cpuidle/state*; do
	[ $(cat $state/latency) -lt 50 ] || echo 1 >$state/disable
done
"""


def pattern(text: str) -> str:
    """Return a regular expression, if it is one."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error
    return text


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="make incidents, and see whether perfdiag names them")
    parser.add_argument("--kernel", default="6.1", choices=kernels(), help="of the lab")
    parser.add_argument("--output", type=Path, required=True, help="directory for results.json and the recordings")
    parser.add_argument(
        "--only", type=pattern, default="", help="only cases INCIDENT/NAME that this regular expression finds"
    )
    parser.add_argument("--keep", type=Path, help="directory for the recordings of right diagnoses, shrunk")
    parser.add_argument("directory", type=Path, nargs="?", default=OWN, help="of incidents; default: the project's own")
    return parser.parse_args()


def report(recording: Path) -> Report:
    """Report a recording as a person would, and read the answer."""
    words = [str(ROOT / "build/bin/perfdiag"), "report", "--json", str(recording)]
    run = subprocess.run(words, capture_output=True, timeout=REPORT_SECONDS, check=False)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    recording.with_suffix(".json").write_bytes(run.stdout)
    return msgspec.json.decode(run.stdout, type=Report)


class Theatre:
    """One guest for as many cases as it survives."""

    def __init__(self, kernel: str) -> None:
        self.kernel, self.release, self._guest = kernel, "", None

    _guest: Guest | None

    @property
    def guest(self) -> Guest:
        """The guest, booted anew if the last one has ended."""
        if self._guest is None or self._guest.process.poll() is not None:
            self.close()
            self._guest = Guest(self.kernel)
            self.release = self._guest.release
            self._guest.run(SHALLOW)
        return self._guest

    def cpu_times(self) -> tuple[int, int]:
        """Return how long the machine has run on CPUs of this host, and waited for one, in ns; nothing without one."""
        tasks = f"/proc/{self._guest.process.pid}/task" if self._guest else "/nowhere"
        times = []
        for path in Path(tasks).glob("*/schedstat"):
            with contextlib.suppress(OSError):  # a thread that has just ended
                times.append(path.read_text().split())
        return sum(int(ran) for ran, _, _ in times), sum(int(waited) for _, waited, _ in times)

    def close(self) -> None:
        """End the guest, if there is one."""
        if self._guest:
            self._guest.close()


def make_quietly(theatre: Theatre, incident: Incident, case: Case, output: Path) -> Made:
    """Make a case; once more, and said so, where this host was so busy that the recorder could not read all it must.

    Raises what `make` raises.
    """
    for attempt in range(ATTEMPTS):
        try:
            return make(theatre.guest, incident, case, output)
        except Busy as error:
            if attempt == ATTEMPTS - 1:
                raise
            print(f"once more ({error})", end=" ", file=sys.stderr, flush=True)
            time.sleep(BUSY_SECONDS)
    raise AssertionError("not reached")


def recording_of(case: Case, output: Path) -> Path:
    """Return where the recording of a case is."""
    return output / f"{case.incident}-{case.name}.jsonl"


def store(case: Case, output: Path, directory: Path) -> None:
    """Keep the recording of a right diagnosis for the unit tests, or say why not."""
    try:
        keep(case, recording_of(case, output), directory)
    except (Shrunk, OSError) as error:
        print(f"    not kept: {error}", file=sys.stderr, flush=True)


def play(theatre: Theatre, case: Case, incident: Incident, output: Path, twins: dict[str, dict[str, float]]) -> Result:
    """Make, record, report and judge one case."""
    try:
        made = make_quietly(theatre, incident, case, recording_of(case, output))
        if case.kind == "twin":
            twins[case.incident] = made.truth
        return judge(case, report(made.recording), made.truth, twins.get(case.incident, {}))
    except Exception as error:  # whatever a folder, a guest or a report does: the other cases are made, and told
        known = isinstance(error, AssertionError | RuntimeError | OSError | Busy | ExpressionError)
        said = " ".join(str(error).split())[-600:]
        return failed(case, said if said and known else f"{type(error).__name__}: {said}")


def run(theatre: Theatre, wanted: list[tuple[Case, Incident]], output: Path) -> Iterator[Result]:
    """Yield the result of every case, saying on standard error how it goes."""
    twins: dict[str, dict[str, float]] = {}
    for number, (case, incident) in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {case.title}", end=" ", file=sys.stderr, flush=True)
        began, before = time.monotonic(), theatre.cpu_times()
        result = play(theatre, case, incident, output, twins)
        ran, waited = (max(0, now - then) for now, then in zip(theatre.cpu_times(), before, strict=True))
        withheld = waited / (ran + waited) if ran else 0.0
        result = msgspec.structs.replace(result, seconds=time.monotonic() - began, withheld=withheld)
        print(f"({result.seconds:.0f} s)\n    {table.line(result)}", file=sys.stderr, flush=True)
        yield result


def main() -> int:
    """Run what is asked for and return the exit status."""
    options = parse()
    if reason := missing(options.kernel):
        print(f"kernel {options.kernel}: {reason}", file=sys.stderr)
        return 1
    try:
        incidents = [(folder, read(folder)) for folder in find(options.directory)]
    except IncidentError as error:
        print(error, file=sys.stderr)
        return 2
    every = [(case, incident) for folder, incident in incidents for case in cases(folder, incident)]
    every.sort(key=lambda each: each[1].spoils)  # the others keep their order
    needed = {case.incident for case, _ in every if re.search(options.only, case.title)}
    wanted = [
        (case, incident)
        for case, incident in every
        if re.search(options.only, case.title)
        or (case.kind == "twin" and case.incident in needed)  # the others' measure
    ]
    if not wanted:
        print(f"no incident in {options.directory}", file=sys.stderr)
        return 2
    output = options.output / options.kernel
    output.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    theatre, ended = Theatre(options.kernel), "interrupted"
    with contextlib.closing(theatre), contextlib.suppress(KeyboardInterrupt):
        for (case, _), result in zip(wanted, run(theatre, wanted, output), strict=True):
            results.append(result)
            if options.keep and result.right:
                store(case, output, options.keep)
        ended = "complete"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be interrupted
    print(f"Linux {theatre.release or options.kernel}, {len(results)} of {len(wanted)} cases made\n")
    print("\n".join(table.text(results)))
    (options.output / "results.json").write_bytes(table.document(results, options.kernel, theatre.release, ended))
    return 0 if ended == "complete" and correct(results) else 1


if __name__ == "__main__":
    forget_who_started_us()
    sys.exit(main())

"""`make truth`: starts real servers, healthy and ill, and holds the first finding of each report against what was done.

    run.py --output DIRECTORY [--only REGEX] [--real-time] [DIRECTORY]

Prints progress on standard error; at the end, or when it is interrupted, a table, a confusion matrix and the sums on
standard output, and writes them to results.json.  Exit status 1 if anything is not right or could not be made.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib")]

import msgspec  # noqa: E402

from conftest import forget_who_started_us, keep_mounts_to_ourselves, missing_for_live  # noqa: E402
from incidents.run import pattern  # noqa: E402
from incidents.support.expressions import ExpressionError  # noqa: E402
from incidents.support.incident import Case, IncidentError, cases  # noqa: E402
from incidents.support.judge import failed, judge  # noqa: E402
from truth.support import table  # noqa: E402
from truth.support.row import Row, find, read  # noqa: E402
from truth.support.stage import make, prefer  # noqa: E402
from truth.support.table import Held  # noqa: E402

OWN = ROOT / "tests" / "truth"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="make servers ill, and see whether perfdiag says of what")
    parser.add_argument("--output", type=Path, required=True, help="directory for results.json and the recordings")
    parser.add_argument("--only", type=pattern, default="", help="only cases ROW/NAME that this finds")
    parser.add_argument(
        "--real-time", action="store_true", help="let servers never wait for neighbours on a busy host (SCHED_RR)"
    )
    parser.add_argument("directory", type=Path, nargs="?", default=OWN, help="of rows; default: the project's own")
    return parser.parse_args()


def play(case: Case, row: Row, output: Path, twins: dict[str, dict[str, float]]) -> Held:
    """Make, record, report and judge one case."""
    try:
        made = make(row, case, output / f"{case.incident}-{case.name}.jsonl", output / "programs" / case.incident)
        if case.kind == "twin":
            twins[case.incident] = made.truth
        return Held(
            judge(case, made.report, made.truth, twins.get(case.incident, {})),
            made.report.verdict.text,
            table.percentiles(made.truth),
            table.percentiles(made.truth, "served_"),
            table.reported(made.report, row.requests),
            made.truth["per_second"] * made.report.window.duration_ns / 1e9 if "per_second" in made.truth else None,
            row.agree,
            made.busy,
        )
    except Exception as error:  # whatever a server or a report does: the other cases are made, and told
        known = isinstance(error, AssertionError | OSError | ExpressionError)
        said = " ".join(str(error).split())[-600:]
        return Held(failed(case, said if said and known else f"{type(error).__name__}: {said}"))


def run(wanted: list[tuple[Case, Row]], output: Path) -> Iterator[Held]:
    """Yield what comes of every case, saying on standard error how it goes."""
    twins: dict[str, dict[str, float]] = {}
    for number, (case, row) in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}]", end=" ", file=sys.stderr, flush=True)
        began = time.monotonic()
        held = play(case, row, output, twins)
        result = msgspec.structs.replace(held.result, seconds=time.monotonic() - began)
        held = msgspec.structs.replace(held, result=result)
        print(table.line(held), file=sys.stderr, flush=True)
        yield held


def main() -> int:
    """Run what is asked for and return the exit status."""
    options = parse()
    if reason := missing_for_live():
        print(reason, file=sys.stderr)
        return 1
    try:
        rows = [(folder, read(folder)) for folder in find(options.directory.resolve())]
    except IncidentError as error:
        print(error, file=sys.stderr)
        return 2
    every = [(case, row) for folder, row in rows for case in cases(folder, row)]
    wanted = [(case, row) for case, row in every if re.search(options.only, case.title)]
    if not wanted:
        print(f"no row in {options.directory}", file=sys.stderr)
        return 2
    keep_mounts_to_ourselves()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    prefer(options.real_time)
    results: list[Held] = []
    ended = "interrupted"
    with contextlib.suppress(KeyboardInterrupt):
        for held in run(wanted, output):
            results.append(held)
        ended = "complete"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to be interrupted
    print(f"{len(results)} of {len(wanted)} cases made\n")
    print("\n".join(table.text(results)))
    (output / "results.json").write_bytes(table.document(results, ended))
    return 0 if ended == "complete" and results and all(held.right for held in results) else 1


if __name__ == "__main__":
    forget_who_started_us()
    sys.exit(main())

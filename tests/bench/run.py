"""`make bench`: every figure the project claims about its own cost, measured here and now.

    run.py --output DIRECTORY [--quick] [SECTION ...]

Writes bench.txt and bench.json.  It needs root, some minutes and a quiet machine; it is no test and never fails on a
figure.  Sections: switches, throughput, idle, start, memory, programs, scale, waking,
requests, applications, guest (in an emulated machine of the lab), tools (the scripts of tools/ that TOOLS names, or
all), dtrace (those of dtrace/, likewise), witnesses (other people's tools in an emulated machine; the questions that
WITNESSES names, or all).
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "lib")]

from bench import (  # noqa: E402
    applications,
    guest,
    idle,
    medians,
    memory,
    programs,
    requests,
    scale,
    start,
    switches,
    table,
    throughput,
    tools,
    waking,
    witnesses,
)
from bench.measure import Context  # noqa: E402
from bench.table import Row  # noqa: E402
from conftest import keep_mounts_to_ourselves  # noqa: E402

SECTIONS: dict[str, Callable[[Context], Iterator[Row]]] = {
    "switches": switches.rows,
    "throughput": throughput.rows,
    "idle": idle.rows,
    "start": start.rows,
    "memory": memory.rows,
    "programs": programs.rows,
    "scale": scale.rows,
    "waking": waking.rows,
    "requests": requests.rows,
    "applications": applications.rows,
    "guest": guest.rows,
    "tools": tools.rows,
    "dtrace": tools.rows_for_dtrace,
    "witnesses": witnesses.rows,
}


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="measure what perfdiag costs")
    parser.add_argument("--output", type=Path, required=True, help="directory for bench.txt and bench.json")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: about a minute")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; default: all")
    options = parser.parse_args()
    unknown = set(options.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    return options


def host() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "kernel": platform.release(),
        "CPUs": os.cpu_count(),
        "load": f"{os.getloadavg()[0]:.2f}",
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    }


def main() -> int:
    """Run the sections and write the table; a section that fails is a row that says so."""
    options = parse()
    if os.geteuid() != 0:
        print("error: the benchmark attaches BPF programs\nHINT: sudo make bench", file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    keep_mounts_to_ourselves()
    options.output.mkdir(parents=True, exist_ok=True)
    found: list[Row] = []
    told = host()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perfdiag-bench-", dir="/var/tmp") as scratch:
        context = Context(options.quick, Path(scratch), lambda text: print(text, flush=True), options.output)
        for name in options.sections or SECTIONS:
            print(f"[{time.monotonic() - begin:4.0f} s] {name}", flush=True)
            try:
                for row in SECTIONS[name](context):
                    found.append(row)
                    print(table.line(row), flush=True)
            except Exception as error:  # a benchmark of eight parts does not lose seven because of one
                found.append(Row(name, "this section", None, "", note=f"{type(error).__name__}: {error}"))
                print(table.line(found[-1]), flush=True)
    told["load at the end"], told["took"] = f"{os.getloadavg()[0]:.2f}", f"{time.monotonic() - begin:.0f} s"
    table.write(options.output, found, told)
    print(f"\n{table.text(found, told)}\nwritten to {options.output}/bench.txt and bench.json")
    print("", *medians.changes(found, medians.stored()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

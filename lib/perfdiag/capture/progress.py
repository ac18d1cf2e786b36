"""The progress of a recording: a bar on a terminal, one line elsewhere; always on standard error."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

_quiet = False


def be_quiet() -> None:
    """Print no progress from now on, only warnings and errors."""
    global _quiet
    _quiet = True


def tell(*lines: str) -> None:
    """Print something that is neither a warning nor an error, unless --quiet is given."""
    if not _quiet:
        say(*lines)


def say(*lines: str) -> None:
    """Write lines to standard error; if it is closed, that is no error."""
    with contextlib.suppress(OSError):
        for line in lines:
            print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown(duration_ns: int) -> Iterator[Callable[[], None] | None]:
    """Show the progress of a window (0: open end); yield the function to call several times a second, if there is one.
    The time runs from the first call."""
    if _quiet or not sys.stderr.isatty() or os.environ.get("TERM") in (None, "dumb"):
        yield None
        return
    from rich.console import Console  # only here: where nobody looks, it would only cost time
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Elapsed(ProgressColumn):
        """Seconds gone, of how many."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.completed:.0f}{'' if task.total is None else f' of {task.total:g}'} s")

    begin = 0.0
    total = duration_ns / 1e9 if duration_ns else None
    columns = (TextColumn("recording"), BarColumn(), Elapsed(), TextColumn("Ctrl-C ends early and reports"))
    # With its size given, rich reads neither COLUMNS nor LINES, where it takes "²" for a number and fails.
    columns_of_terminal, lines_of_terminal = os.get_terminal_size(sys.stderr.fileno())
    console = Console(stderr=True, width=columns_of_terminal or 80, height=lines_of_terminal or 25)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)
        bar.refresh()  # whatever rich imports late, it imports now

        def tick() -> None:
            nonlocal begin
            begin = begin or time.monotonic()
            elapsed = time.monotonic() - begin
            bar.update(task, completed=elapsed if total is None else min(elapsed, total), refresh=True)

        yield tick

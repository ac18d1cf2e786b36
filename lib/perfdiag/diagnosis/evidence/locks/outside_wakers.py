"""Names of threads outside the target that end its waits."""

from collections.abc import Iterable

from perfdiag.common.text import named
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model, Row


def ended_by(model: Model, rows: Iterable[Row], tid: int) -> str:
    """Return the name of a thread that ended waits of `rows`, as recorded with them or as seen on a CPU."""
    comm = next((row.waker_comm for row in rows if row.waker_tid == tid and row.waker_comm), "")
    met = next((row.object for row in model.rows_of("runq.busy") if row.key.startswith(f"task:{tid}:")), "")
    return named(comm, tid) if comm else plain(met) or f"thread {tid}"

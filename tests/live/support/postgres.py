"""One session of a throw-away PostgreSQL server that runs a statement so many times."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType

import pytest

from bench.postgres import Cluster


class Statements:
    """A server that is ready, and what its client will ask; `pid` is the first process of the server."""

    def __init__(self, text: str, count: int, *, protocol: str = "simple") -> None:
        self.count, self.protocol = count, protocol
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perfdiag-postgres-")))
            self.script = folder / "statement.sql"
            self.script.write_text(f"{text};\n")
            self.cluster = stack.enter_context(Cluster(folder, scale=0))
            self.script.chmod(0o644)
            self._stack = stack.pop_all()
        self.pid = self.cluster.pid

    def run(self) -> dict[str, int]:
        """Let the session run, and return how long it took together with its client."""
        begin = time.monotonic_ns()
        self.cluster.repeat(self.script, self.count, self.protocol)
        return {"elapsed_ns": time.monotonic_ns() - begin}

    def __enter__(self) -> Statements:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def need_postgres() -> None:
    """Skip where no server of PostgreSQL can be started."""
    if not Path("/usr/lib/postgresql").exists() or not shutil.which("pgbench"):
        pytest.skip("no PostgreSQL: see packages-truth.txt")


__all__ = ["Statements", "need_postgres"]

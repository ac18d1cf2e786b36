"""A throw-away PostgreSQL cluster that listens on a unix socket only and ends with the benchmark."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from bench.processes import PATIENCE_SECONDS, die_with_parent, running

USER = "postgres"
SCALE = 4  # 400,000 rows
CLIENTS = 4


class Cluster:
    """Server in a directory of its own below `scratch`; a context manager that leaves nothing behind."""

    def __init__(self, scratch: Path, *, scale: int = SCALE) -> None:
        self.directory = scratch / "postgres"
        self.scale = scale
        self.user = pwd.getpwnam(USER)
        versions = sorted(Path("/usr/lib/postgresql").iterdir(), key=lambda path: float(path.name))
        self.programs = versions[-1] / "bin"
        scratch.chmod(0o711)  # the server runs as somebody else
        self.directory.mkdir()
        shutil.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self._server: AbstractContextManager[subprocess.Popen[bytes]] | None = None
        self.pid = 0

    def _run(self, program: Path | str, *arguments: object) -> None:
        command = [str(program), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            user=self.user.pw_uid,
            group=self.user.pw_gid,
            extra_groups=[],
            cwd="/",
            env=self._environment(),
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr.decode(errors='replace').strip()}")

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LC_ALL": "C", "PGHOST": str(self.directory), "PGDATABASE": USER}

    def __enter__(self) -> Cluster:
        data = self.directory / "data"
        self._run(self.programs / "initdb", "--auth=trust", "--no-sync", "-D", data)
        self._server = running(
            [self.programs / "postgres", "-D", data, "-c", "listen_addresses=", "-k", self.directory],
            stop=signal.SIGQUIT,
            user=self.user.pw_uid,
            group=self.user.pw_gid,
            extra_groups=[],
            cwd="/",
            env=self._environment(),
            preexec_fn=die_with_parent(signal.SIGQUIT),
        )
        try:
            self.pid = self._server.__enter__().pid
            self._await()
            if self.scale:
                self._run("pgbench", "--initialize", "--quiet", "--scale", self.scale)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _await(self) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        ask = [str(self.programs / "pg_isready"), "--quiet"]
        while subprocess.run(ask, env=self._environment(), check=False).returncode:
            if time.monotonic() > end:
                raise RuntimeError("the PostgreSQL server does not answer")
            time.sleep(0.1)

    def repeat(self, script: Path, count: int, protocol: str = "simple") -> None:
        """Let one session run the statements of a file so many times."""
        words = ["--no-vacuum", "--protocol", protocol, "--transactions", count, "--file", script]
        self._run("pgbench", *words, "--username", USER)

    def pgbench(self, log: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """The read-write script, endlessly: progress every second on its stderr, every transaction in log.PID."""
        command = ["pgbench", "--client", CLIENTS, "--jobs", 1, "--time", 3600, "--progress", 1, "--no-vacuum"]
        command += ["--log", "--log-prefix", log]
        return running(command, stderr=subprocess.PIPE, bufsize=0, env=self._environment() | {"PGUSER": USER})

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.__exit__(None, None, None)


__all__ = ["Cluster"]

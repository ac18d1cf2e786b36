"""A throw-away server of MariaDB or MySQL, and one session of it that runs a statement so many times."""

from __future__ import annotations

import contextlib
import ctypes
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from bench.processes import PATIENCE_SECONDS, running
from live.support.servers_root import entered, need_server

USER = "mysql"
CLIENT = "libmariadb.so.3"


class MariaStatements:
    """A server that is ready, and what its session will ask; `pid` is that of the server."""

    def __init__(self, text: str, count: int, *, prepared: bool = False, options: Sequence[str] = ()) -> None:
        """A prepared statement is prepared at the start, once; each run of it then speaks another protocol."""
        self.text, self.count = text.encode(), count
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="perfdiag-mariadb-")))
            install, serve = self._commands(folder)
            subprocess.run(install, check=True, capture_output=True)
            self.pid = stack.enter_context(running([*serve, "--skip-networking", *options])).pid
            self.socket = f"{folder}/socket"
            self._client = _functions()
            self._session = self._connected(self.socket.encode())
            stack.callback(self._client.mysql_close, self._session)
            self._prepared = self._prepare() if prepared else None
            self._stack = stack.pop_all()

    def _commands(self, folder: Path) -> tuple[list[str], list[str]]:
        """Return what makes the server's files, and what runs it: its socket is folder/socket."""
        user = pwd.getpwnam(USER)
        shutil.chown(folder, user.pw_uid, user.pw_gid)
        own = ["--no-defaults", f"--datadir={folder}/data", f"--user={USER}"]
        install = ["mariadb-install-db", *own, "--auth-root-authentication-method=normal"]
        return install, ["mariadbd", *own, f"--socket={folder}/socket", f"--pid-file={folder}/pid"]

    def _connected(self, socket: bytes) -> int:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            session: int = self._client.mysql_init(None)
            if self._client.mysql_real_connect(session, None, b"root", None, None, 0, socket, 0):
                return session
            why = self._client.mysql_error(session)
            self._client.mysql_close(session)
            if time.monotonic() > end:
                raise RuntimeError(f"the server does not answer: {why.decode()}")
            time.sleep(0.1)

    def _prepare(self) -> int:
        statement: int = self._client.mysql_stmt_init(self._session)
        self._check(self._client.mysql_stmt_prepare(statement, self.text, len(self.text)))
        return statement

    def _check(self, failed: int) -> None:
        if failed:
            raise RuntimeError(self._client.mysql_error(self._session).decode())

    def run(self) -> dict[str, int]:
        """Let the session run, and return how long it took together with its client."""
        begin = time.monotonic_ns()
        try:
            for _ in range(self.count):
                self.ask()
        finally:
            elapsed_ns = time.monotonic_ns() - begin
            self.ping()
        return {"elapsed_ns": elapsed_ns}

    def ping(self) -> None:
        """Return when the server is done with what came before: the answer to a statement comes sooner."""
        self._client.mysql_ping(self._session)

    def ask(self) -> None:
        """Let the session run the statement once."""
        if self._prepared:
            self._check(self._client.mysql_stmt_execute(self._prepared))
            self._check(self._client.mysql_stmt_store_result(self._prepared))
        else:
            self._check(self._client.mysql_real_query(self._session, self.text, len(self.text)))
            self._client.mysql_free_result(self._client.mysql_store_result(self._session))

    def __enter__(self) -> MariaStatements:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


class MySqlStatements(MariaStatements):
    """The same of MySQL, in a root and a mount namespace of its own."""

    def _commands(self, folder: Path) -> tuple[list[str], list[str]]:
        own = ["mysqld", "--no-defaults", "--datadir=/mnt/data", "--user=root"]
        serve = ["--socket=/mnt/socket", "--pid-file=/mnt/pid", "--mysqlx=OFF", "--secure-file-priv=NULL"]
        return [*entered(folder), *own, "--initialize-insecure"], [*entered(folder), *own, *serve]


def _functions() -> Any:
    """Return the client library; a session, a statement and a result are addresses."""
    library = ctypes.CDLL(CLIENT)
    address, text, length = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_ulong
    connect = [address, text, text, text, text, ctypes.c_uint, text, ctypes.c_ulong]
    for name, result, arguments in (
        ("mysql_init", address, [address]),
        ("mysql_real_connect", address, connect),
        ("mysql_error", text, [address]),
        ("mysql_real_query", ctypes.c_int, [address, text, length]),
        ("mysql_store_result", address, [address]),
        ("mysql_free_result", None, [address]),
        ("mysql_stmt_init", address, [address]),
        ("mysql_stmt_prepare", ctypes.c_int, [address, text, length]),
        ("mysql_stmt_execute", ctypes.c_int, [address]),
        ("mysql_stmt_store_result", ctypes.c_int, [address]),
        ("mysql_ping", ctypes.c_int, [address]),
        ("mysql_close", None, [address]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def need_mariadb() -> None:
    """Skip where no server of MariaDB can be started."""
    if not shutil.which("mariadbd") or not shutil.which("mariadb-install-db"):
        pytest.skip("no MariaDB: see packages-truth.txt")


def need_mysql(name: str) -> None:
    """Skip where that server, mariadb or mysql, cannot be started; MariaDB's client asks both."""
    need_mariadb()
    if name == "mysql":
        need_server("usr/sbin/mysqld")


__all__ = ["MariaStatements", "MySqlStatements", "need_mariadb", "need_mysql"]

"""Servers of the guest that has DTrace: a session of PostgreSQL, and programs of Java."""

from __future__ import annotations

from lab.support.guest import Guest
from lab.support.processes import Process

POSTGRESQL = """
[ ! -e /run/pg ] || exit 0
mkdir /run/pg && chown postgres /run/pg
options="-k /run/pg -c listen_addresses= -c fsync=off"
su postgres -c "cd /run/pg; /usr/lib/postgresql/18/bin/initdb -D data -U postgres -A trust --no-sync >log 2>&1
/usr/lib/postgresql/18/bin/pg_ctl -D data -o '$options' -l log -w start >>log 2>&1"
"""
ASK_PID = "echo 'SELECT pg_backend_pid();' >in; until [ -s out ]; do sleep 0.1; done; cat out"


class Session(Process):
    """A client of PostgreSQL, that does what is written into `in`; `server_pid` is the process that serves it."""

    def __init__(self, guest: Guest) -> None:
        guest.run(POSTGRESQL)
        super().__init__(guest, ["psql", "-h", "/run/pg", "-U", "postgres", "-At"], "", "[ -s pid ]")
        self.server_pid = int(self.here(ASK_PID))


class Java(Process):
    """A Java program from its source, whose class is called `name`; it has begun when it says so."""

    def __init__(self, guest: Guest, name: str, source: str, *arguments: object, options: tuple[str, ...] = ()) -> None:
        (guest.folder / f"{name}.java").write_text(source)
        guest.run(f"mkdir -p /run/java && javac -d /run/java /lab/{name}.java")
        command = ["java", "-XX:+UseSerialGC", "-Xmx64m", *options, "-cp", "/run/java", name, *arguments]
        super().__init__(guest, command, "", "[ -s out ]")


__all__ = ["Java", "Session"]

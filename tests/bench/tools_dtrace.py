"""The load that each script of dtrace/ slows down most, in the emulated machine that has DTrace: see tools_guest."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from bench.emulated import CPU, Load
from bench.tools_guest import GUEST_LOADS, REPEAT
from lab.support.guest import Guest
from lab.support.processes import Process
from lab.support.servers import Java, Session
from live.support.workload import ROOT

# A process that has to be there before its script does the work of others, who wait for its word.
SERVED = "/run/served"
ASK = f"{{}} >{{}}/in; read -r over <{SERVED}"
SERVE = """
import java.io.*;

public class Serve {{
    static class Loader extends ClassLoader {{
        void define(byte[] bytes) {{ defineClass(null, bytes, 0, bytes.length); }}
    }}

    public static void main(String[] arguments) throws Exception {{
        var input = new BufferedReader(new InputStreamReader(System.in));
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        var bytes = Serve.class.getClassLoader().getResourceAsStream("Serve.class").readAllBytes();
        System.out.println("ready");
        for (String line; (line = input.readLine()) != null;) {{
            for (int i = 0; i < Integer.parseInt(line); i++) {};
            try (var over = new FileWriter(arguments[0])) {{ over.write("over\\n"); }}
        }}
    }}
}}
"""
STATEMENT = "echo 'SELECT 1;';"
TELL = rf"'\! echo over >{SERVED}'"
ECHO = f"""
mkfifo there back
cat there >back &
exec 3<>there 4<>back
echo ready
while read -r count; do
    i=0
    while [ $((i += 1)) -le $count ]; do echo line >&3; read -r line <&4; done
    echo over >{SERVED}
done
"""


def made(what: str, *words: object, few: int, many: int) -> Callable[[Guest], AbstractContextManager[Load]]:
    """A load of a workload that needs no preparation."""

    @contextlib.contextmanager
    def load(guest: Guest) -> Iterator[Load]:
        yield Load(what, words, few, many)

    return load


@contextlib.contextmanager
def serving(guest: Guest, process: Process, pid: int, ask: str, what: str, few: int, many: int) -> Iterator[Load]:
    """A load of one process with all its threads; another one asks for it."""
    with process:
        guest.run(f"mkfifo {SERVED}; taskset -apc {CPU} {process.process_pid}; taskset -apc {CPU} {pid}")
        yield Load(what, ("sh", "-c", ASK.format(ask, process.folder)), few, many, pid=pid)


@contextlib.contextmanager
def jvmgc(guest: Guest) -> Iterator[Load]:
    process = Java(guest, "Serve", SERVE.format("threads.findDeadlockedThreads()"), SERVED, options=("-Xint",))
    stop = "stop of all threads of a Java program"
    with serving(guest, process, process.process_pid, "echo $0", stop, 100, 1_100) as load:
        yield load


@contextlib.contextmanager
def metaspace(guest: Guest) -> Iterator[Load]:
    process = Java(guest, "Serve", SERVE.format("new Loader().define(bytes)"), SERVED, options=("-Xint",))
    loaded = "class that is loaded"
    with serving(guest, process, process.process_pid, "echo $0", loaded, 50, 550) as load:
        yield load


@contextlib.contextmanager
def dirtythrottle(guest: Guest) -> Iterator[Load]:
    folder = guest.run("mktemp -d -p /var/tmp")
    flush = ("flush", "--append", 0, "--file", f"{folder}/flushed", "--count")
    yield Load("fdatasync(2) of a file on a disk", flush, 100, 1_100)


@contextlib.contextmanager
def pgcache(guest: Guest) -> Iterator[Load]:
    guest.run("head -c 1M /dev/zero >/run/read")
    read = ("read", "--mode", "buffered", "--file", "/run/read", "--count")
    yield Load("pread(2) of 4 KiB that are in memory", read, 1_000, 11_000)


@contextlib.contextmanager
def sqlq(guest: Guest) -> Iterator[Load]:
    session = Session(guest)
    ask = f"{{ {REPEAT.format(STATEMENT)} echo {TELL}; }}"
    with serving(guest, session, session.server_pid, ask, "statement that does nothing", 100, 1_100) as load:
        yield load


@contextlib.contextmanager
def ledger(guest: Guest) -> Iterator[Load]:
    process = Process(guest, ["taskset", "-c", CPU, "sh", "-c", ECHO], "", "[ -s out ]")
    line = "line that a shell sends to cat and gets back"
    with serving(guest, process, process.process_pid, "echo $0", line, 300, 3_300) as load:
        yield load


round_trip = made(
    "round trip between two processes on a CPU", "pingpong", "--cpu", CPU, "--count", few=1_000, many=11_000
)

# Scripts that have the same load with bpftrace share it.
DTRACE_LOADS: dict[str, Callable[[Guest], AbstractContextManager[Load]]] = {
    **{f"{name}.d": load for name, load in GUEST_LOADS.items() if (ROOT / "dtrace" / f"{name}.d").exists()},
    "dirtythrottle.d": dirtythrottle,
    "fdlimit.d": made(
        "open(2) that is refused",
        *("fd_leak", "--limit", 16, "--pause-us", 0, "--attempts"),
        few=1_000,
        many=11_000,
    ),
    "flushlat.d": made(
        "fdatasync(2) of a file in memory",
        *("flush", "--append", 0, "--file", "/run/flushed", "--count"),
        few=500,
        many=5_500,
    ),
    "jvmgc.d": jvmgc,
    "ledger.d": ledger,
    "metaspace.d": metaspace,
    "pgcache.d": pgcache,
    "runqlat.d": round_trip,
    "sqlq.d": sqlq,
    "tcpwindow.d": made(
        "round trip over TCP between two processes on a CPU",
        *("pingpong", "--mode", "tcp", "--cpu", CPU, "--count"),
        few=500,
        many=5_500,
    ),
    "wakerchain.d": round_trip,
}

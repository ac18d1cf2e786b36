"""Scripts of dtrace/ in a guest that has DTrace for Linux: a script, its trigger, and what it prints, filtered."""

from __future__ import annotations

import re
from typing import Any

import pytest
from perfdiag.documents import script_header

from lab.support import host
from lab.support.dtrace import DATA, SCRIPTS, listed
from lab.support.guest import CPUS, Guest
from lab.support.nfs import nfs
from lab.support.servers import Java, Session
from live.support.fixtures import Cleanup, Start

pytestmark = pytest.mark.dtrace

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.d"))
MODULES = "kvm_amd nfs nfsv4"  # scripts may trace these
# Waits for a CPU, of those that the workload counts: threads wait before they begin to count, too.
AT_LEAST, AT_MOST = 0.95, 1.15
COLLECTIONS = """
public class Collections {
    static byte[][] live = new byte[100_000][];

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < live.length; i++) live[i] = new byte[20];
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) System.gc();
        long count = 0, took_ms = 0;
        for (var collector : java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()) {
            count += collector.getCollectionCount();
            took_ms += collector.getCollectionTime();
        }
        System.out.println(count + " " + took_ms);
    }
}
"""
SMALL = ("dtrace:::", "io:::", "proc:::", "sched:::", "profile:::tick-1s")
LARGE = r"^((?:syscall|sdt|rawtp|fbt::|profile:::profile)[\w:*-]+)"
ROW = re.compile(r" *\d+ ( *\S+) (.{17}) (.{33}) (\S+)")


@pytest.mark.parametrize("name", NAMES)
def test_it_compiles(name: str, guest: Guest) -> None:
    """What another system has is refused by one line; probes of a process are there when it is traced."""
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    told = script_header.parse(SCRIPTS / f"{name}.d")
    of_process = "-Z" if "$1:" in (SCRIPTS / f"{name}.d").read_text() else ""
    status, said = guest.try_run(f"dtrace {of_process} -e -s /lab/dtrace/{name}.d 1")
    if dict(told.systems)["Linux"].startswith("none: "):
        assert status == 1 and "does not match any probes" in said and said.count("\n") == 1
    else:
        assert (status, said) == (0, "")


def test_definitions_for_another_system_are_left_out(guest: Guest) -> None:
    """SRUN of FreeBSD would be defined twice."""
    assert guest.run("dtrace -L /lab/dtrace/lib -e -s /lab/dtrace/runqlat.d 1") == ""


@pytest.mark.parametrize(
    ("words", "told"), [("abc", "failed to resolve abc"), ("1 2 3", "extraneous argument '3'"), ("1.5", "incompatible")]
)
def test_wrong_arguments_are_refused(words: str, told: str, guest: Guest) -> None:
    status, said = guest.try_run(f"dtrace -s /lab/dtrace/runqlat.d {words}")
    assert status == 1 and told in said and said.count("\n") == 1


@pytest.mark.parametrize(
    "words", ["-s /lab/dtrace/jvmgc.d", "-s /lab/dtrace/sqlq.d", "-p 4000000 -s /lab/dtrace/runqlat.d"]
)
def test_a_process_that_is_not_there(words: str, guest: Guest) -> None:
    status, said = guest.try_run(f"dtrace {words} 4000000")
    assert status == 1 and said.count("\n") == 1, (status, said)
    assert "failed to grab process 4000000" in said or "No such process" in said


def test_two_threads_share_a_cpu(start: Start, dtrace: Any, update: bool) -> None:
    """Each of them can run all the time: what it does not run it waits."""
    spin = start("spin", "--threads", 2, "--cpu", CPUS - 1, "--duration-ms", 2000)
    script = dtrace("runqlat", spin)
    truth = spin.run()
    seen = script.stop(example=True)
    waited_ns = truth["wall_ns"] - truth["cpu_ns"]
    waits = seen.stats("waits")[""]
    assert AT_LEAST <= waits.total / waited_ns <= AT_MOST
    assert waits.count == seen.sum("wait_ns") > 100
    assert sum(seen.sums("behind_ns").values()) == waits.total
    assert seen.number("longest_ns") < waited_ns
    seen.check_golden(update, "spin")


def test_flushes_by_file(tmp_path: host.GuestPath, start: Start, dtrace: Any, update: bool) -> None:
    flush = start("flush", "--mode", "fsync", "--count", 23, "--file", tmp_path / "journal.db")
    script = dtrace("flushlat", flush)
    truth = flush.run()
    seen = script.stop(example=True)
    flushes = seen.stats("flushes")
    assert set(flushes) == {"journal.db"} and flushes["journal.db"].count == 23 == seen.sum("flush_ns")
    assert flushes["journal.db"].total == pytest.approx(truth["flush_ns"], rel=0.2)
    assert seen.sums("longest_ns")["journal.db"] <= truth["worst_ns"]
    seen.check_golden(update, "journal.db")


def test_calls_beyond_the_limit_of_descriptors(start: Start, dtrace: Any, update: bool) -> None:
    leak = start("fd_leak", "--limit", 64, "--attempts", 100)
    script = dtrace("fdlimit", leak)
    truth = leak.run()
    seen = script.stop(example=True)
    assert truth["refused"] > 100 - 64, "no call was refused: nothing was tested"
    assert seen.text.splitlines()[-1] == f"  fd_leak {leak.pid}, errno 24, openat: {truth['refused']}"
    seen.check_golden(update, "fd_leak")


def test_a_chain_of_processes(start: Start, dtrace: Any, update: bool) -> None:
    """The first waits for the second, that one for the third, which sleeps."""
    chain = start("chain", "--depth", 2, "--count", 23, "--sleep-ms", 20)
    script = dtrace("wakerchain", chain)
    truth = chain.run()
    seen = script.stop(example=True)
    chains = seen.stats("slept_ns")
    assert {names.split()[0] for names in chains} == {"chain"}, "of no other process, also where it gets the address"
    slept = chains["chain chain chain"]
    # The first one may end before the third process has woken the second; at the end it waits for both to exit.
    assert 22 <= slept.count <= 23 + 2
    assert 22 * 20_000_000 <= slept.total <= 1.1 * truth["wait_ns"]
    seen.check_golden(update, "chain")


def test_sleepers_whose_wakers_nobody_has_woken(start: Start, dtrace: Any) -> None:
    """Without a PID, from the start: who was woken before, and by whom, was not seen; DTrace says nothing of it."""
    chain = start("chain", "--depth", 2, "--count", 23, "--sleep-ms", 20)
    script = dtrace("wakerchain")
    chain.run()
    chains = script.stop().stats("slept_ns")
    assert any(names.startswith("chain chain") for names in chains), chains


def test_exits_of_a_virtual_machine(guest: Guest, start: Start, dtrace: Any, update: bool) -> None:
    guest.run("modprobe kvm_amd")
    workload = start("kvm_guest", "--rounds", 3, "--service-us", 50)
    script = dtrace("vmexit", workload)
    truth = workload.run()
    seen = script.stop(example=True)
    exits = seen.stats("exits")
    assert exits["user 123"].count == truth["outs"] + truth["ins"] == 3 * (101 + 53)
    assert exits["kernel 114"].count == 3 * 211
    assert exits["user 1024"].count == truth["mmios"] == 3 * 31
    assert exits["user 120"].count == truth["halts"] == 3 * 23
    assert exits["user 123"].total >= 50_000 * exits["user 123"].count
    assert seen.number("unseen") == 1, "the first entry"
    whole_ns = truth["run_ns"] + truth["service_ns"]
    inside_ns = sum(row.total for row in exits.values()) + seen.stats("stays")[""].total
    assert 0.9 * whole_ns <= inside_ns <= 1.2 * whole_ns
    seen.check_golden(update, "user")


def test_flushes_of_an_nfs_server(guest: Guest, cleanup: Cleanup, start: Start, dtrace: Any, update: bool) -> None:
    """2 MiB are written by WRITEs that the server may keep in memory; what its disk takes is in the COMMIT."""
    mount = cleanup.enter_context(nfs(guest, flush_ms=50))
    options = ("--mode", "fsync", "--count", 7, "--bytes", 2 << 20, "--append", 0)
    flush = start("flush", *options, "--file", mount.mountpoint / "data")
    script = dtrace("nfsfsync", flush)
    before, truth, after = mount.calls(), flush.run(), mount.calls()
    seen = script.stop(example=True)
    key = mount.object.removeprefix("mount:")
    flushes = seen.stats("flushes")[key]
    assert flushes.count == 7
    assert flushes.total == pytest.approx(truth["flush_ns"], rel=0.1)
    for procedure, name in {"WRITE": "write_ns", "COMMIT": "commit_ns"}.items():
        assert seen.stats(name)[key].count == after[procedure][0] - before.get(procedure, (0,))[0], procedure
    assert 7 * 50_000_000 <= seen.stats("commit_ns")[key].total <= truth["flush_ns"]
    seen.check_golden(update, key)


def test_collections_of_a_java_program(guest: Guest, cleanup: Cleanup, dtrace: Any, update: bool) -> None:
    """The JVM counts its collections and their milliseconds itself: it may be off by one in each."""
    java = cleanup.enter_context(Java(guest, "Collections", COLLECTIONS, 7))
    script = dtrace("jvmgc", java.process_pid)
    java.here("echo go >in")
    assert java.end() == 0
    counted, took_ms = map(int, java.here("tail -n 1 out").split())
    seen = script.stop(example=True)
    assert seen.stats("collections")["full"].count == 7
    collections = seen.stats("collections").values()
    assert sum(row.count for row in collections) == counted
    assert sum(row.total for row in collections) / 1e6 == pytest.approx(took_ms, abs=counted + 0.1 * took_ms)
    stops = seen.stats("stops")
    assert max(row.count for row in stops.values()) >= 7
    assert sum(row.count for row in stops.values()) == seen.sum("stop_ns")
    seen.check_golden(update)


def test_statements_of_a_server(guest: Guest, cleanup: Cleanup, dtrace: Any, update: bool) -> None:
    """Seven times a session sleeps for 50 ms, and is told so by a statement whose literal is not shown."""
    session = cleanup.enter_context(Session(guest))
    script = dtrace("sqlq", session.server_pid)
    session.here("for i in 1 2 3 4 5 6 7; do echo 'SELECT pg_sleep(0.05);'; done >in; echo '\\q' >in")
    assert session.end() == 0
    seen = script.stop(example=True)
    slept = seen.stats("statements")["SELECT pg_sleep("]
    assert slept.count == 7
    assert 7 * 50_000_000 <= slept.total <= 2 * 7 * 50_000_000
    seen.check_golden(update)


def test_a_comment_in_front_of_a_statement_is_not_shown(guest: Guest, cleanup: Cleanup, dtrace: Any) -> None:
    session = cleanup.enter_context(Session(guest))
    script = dtrace("sqlq", session.server_pid)
    session.here("for i in 1 2 3; do echo '/* secret */ SELECT pg_sleep(0.05);'; done >in; echo '\\q' >in")
    assert session.end() == 0
    seen = script.stop()
    assert seen.sum("statement_ns") >= 3 and "secret" not in seen.text


def test_listing(guest: Guest, update: bool) -> None:
    """The probes that tests/unit/test_dtrace.py looks for: all of some providers, of others those that scripts name."""
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    texts = [(SCRIPTS / f"{name}.d").read_text() for name in NAMES]
    named = sorted({probe for text in texts for probe in re.findall(LARGE, text, re.MULTILINE)})
    probes = " ".join(f"-n {probe}" for probe in (*named, *SMALL))
    rows = [ROW.fullmatch(line) for line in guest.run(f"dtrace -Z -l {probes}").splitlines()[1:]]
    found = sorted({tuple(part.strip() for part in row.groups()) for row in rows if row})
    path = DATA / "linux.txt"
    if update:
        source = f"# Source: dtrace -l, {guest.run('dtrace -V').partition(': ')[2]}, Linux {guest.release} of Debian\n"
        path.write_text(source + "".join("\t".join(row) + "\n" for row in found))
    assert found == listed(path)

"""PROC-CHILD-SLOW: children that are waited for."""

from __future__ import annotations

import io
from types import SimpleNamespace

import msgspec
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model import builder as ledger
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.exchanges import served
from unit.support.judging import check, finding, knowing

S, MS = 1_000_000_000, 1_000_000
CHILD = "PROC-CHILD-SLOW"


def parent_and_child(descendants: bool = True, longest: str = "3 s", exited: bool = False) -> Builder:
    builder = Builder(comm="shell", descendants=descendants).thread(
        "shell", pid=100, cpu_user="10 ms", wait_child=("9 s", 4, longest), exited=exited
    )
    return builder.thread("svn", pid=101, cpu_user="1 s", disk_read="8 s") if descendants else builder


def test_a_child_in_the_target_is_a_path_and_claims_nothing() -> None:
    model = knowing(parent_and_child().model(), processes={101: SimpleNamespace(status={"PPid": "100"})})
    found = finding(model, CHILD)
    assert found.severity is Severity.INFO and not found.claims
    assert "reading from disk 80 %, own code on a CPU 10 %" in found.claim and found.confidence is Confidence.HIGH
    assert "svn (101)" in found.evidence[1].text


def test_children_that_sleep_are_said_to_sleep() -> None:
    builder = Builder(comm="shell").thread("shell", pid=100, cpu_user="10 ms", wait_child=("9 s", 4, "3 s"))
    model = builder.thread("sleep", pid=101, cpu_user="100 ms", wait_timer="9900 ms").model()
    assert "sleeping 99 %" in finding(model, CHILD).claim
    builder.thread("sh", pid=102, wait_child="8 s", rest="wait.timer")  # waits for its own, which are measured, too
    assert "sleeping 99 %" in finding(builder.model(), CHILD).claim


def beside_its_parent(*roots: tuple[str, int]) -> Model:
    """A shell that starts one program after the other, as a child of a process that computes."""
    builder = Builder(comm="node").thread("node", pid=90, cpu_user="8 s", rest="wait.events")
    builder.thread("sh", pid=100, tid=100, cpu_user="10 ms", wait_child=("9 s", 100, "100 ms"))
    builder.thread("sleep", pid=101, tid=101, cpu_user="10 ms", rest="wait.timer")
    for root, ns in roots:
        builder.line(
            schema.Because(
                pid=100, account="wait.child", object="", steps=[], cut=False, root=root, root_object="", root_tid=101,
                root_tid_ns=ns, sum_ns=ns, count=100, inside=False,
            )
        )  # fmt: skip
    return knowing(builder.model(), processes={90: SimpleNamespace(status={"PPid": "1"})})


def test_who_ended_the_waits_tells_what_was_waited_for() -> None:
    """It said that the time of the shell's children was that of its parent."""
    found = finding(beside_its_parent(("wait.timer", 8 * S), ("cpu.user", 1 * S)), CHILD)
    assert "sleeping 89 %, own code on a CPU 11 %" in found.claim and found.confidence is Confidence.HIGH
    assert found.evidence[1].text == "children: sleep (101)"


def test_a_process_whose_parent_is_known_is_nobody_elses_child() -> None:
    for model in (beside_its_parent(), beside_its_parent(("wait.timer", 4 * S))):
        found = finding(model, CHILD)
        assert "sleeping >99 %" in found.claim and "node" not in found.evidence[1].text
        assert found.confidence is Confidence.MEDIUM and any("unknown" in limit for limit in found.limits)


def serving_by_children(root: str, ns: int = 36 * S, *, root_tid: int = 0, **child: str) -> Builder:
    """Four threads each of whose requests starts a child and waits for its end."""
    builder = Builder(comm="server").thread("child", pid=101, **child)
    for tid in range(102, 106):
        builder.thread("serve", tid=tid, cpu_user="10 ms", wait_child=("9 s", 30, "300 ms"), rest="net.request")
    for line in served(120, 301 * MS, {"wait.child": 36 * S, "cpu.user": 40 * MS}):
        builder.line(line)
    return builder.line(
        schema.Because(
            pid=100, account="wait.child", object="", steps=[], cut=False, root=root, root_object="",
            root_tid=root_tid, root_tid_ns=ns if root_tid else 0, sum_ns=ns, count=120, inside=True,
        )
    )  # fmt: skip


def test_children_that_requests_wait_for_and_that_sleep() -> None:
    model = serving_by_children("wait.timer", wait_timer="9 s").model()
    found = finding(model, CHILD)
    assert (
        found.severity is Severity.WARNING and "Requests wait 36.0 s for child processes, which mostly" in found.claim
    )
    first = diagnose(model).findings[0]
    assert first.id == CHILD and first.claimed_ns == 36 * S
    assert found.headline == "Requests wait for child processes, which sleep"
    who = finding(serving_by_children("wait.timer", root_tid=101, wait_timer="9 s").model(), CHILD)
    assert "(child), which sleep" in who.headline and "sleep in child, or" in who.remedies[0].text


def test_a_master_that_waits_for_its_workers_is_not_who_waits_in_requests() -> None:
    builder = serving_by_children("wait.timer", wait_timer="9 s")
    found = finding(builder.thread("master", pid=90, wait_child=("10 s", 1, "10 s")).model(), CHILD)
    assert found.claims["wait.child"] and not any("master" in each.text for each in found.evidence), found


def test_what_children_compute_or_were_not_seen_to_do_is_no_fault() -> None:
    for model in (
        serving_by_children("cpu.user", cpu_user="9 s").model(),
        serving_by_children("wait.timer", 9 * S, wait_timer="9 s").model(),
    ):
        found = finding(model, CHILD)
        assert found.severity is Severity.INFO and not found.claims


def test_children_that_flush_are_their_disks_in_requests_too() -> None:
    builder = serving_by_children("disk.flush", wait_timer="1 s").thread("flusher", pid=110)
    builder.row("disk.flush", "device:254:0", durations={"200 ms": 44})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=44, service="190 ms")
    recording = [
        msgspec.structs.replace(line, root_object="device:254:0") if isinstance(line, schema.Because) else line
        for line in builder.lines()
    ]
    read = reader.read(io.BytesIO(b"".join(msgspec.json.encode(line) + b"\n" for line in recording)))
    disk_of = disk("254:0", "vda", kind="physical", rotational=False)
    found = diagnose(knowing(ledger.build(read), disks=disks(disk_of)))
    assert found.findings[0].id == "DISK-FLUSH-SLOW" and found.findings[0].claimed_ns >= 0.99 * 36 * S, found.findings
    assert found.findings[0].claimed_ns <= 36 * S


def test_an_unknown_family_is_said() -> None:
    found = finding(knowing(parent_and_child().model(), processes={}), CHILD)
    assert found.confidence is Confidence.MEDIUM and any("unknown" in limit for limit in found.limits)


def test_a_child_left_out_is_where_to_look() -> None:
    found = finding(parent_and_child(descendants=False).model(), CHILD)
    assert (
        found.severity is Severity.WARNING
        and "--only" not in found.remedies[0].text
        and "--pid" in found.remedies[0].text
    )
    assert found.confidence is Confidence.MEDIUM


def test_a_command_that_has_ended_waited_for_its_children_all_the_same() -> None:
    found = finding(parent_and_child(descendants=False, exited=True).model(), CHILD)
    assert found.severity is Severity.WARNING and "shell (100) waited 9.00 s" in found.claim


def test_a_supervisor_waits_and_that_is_its_work() -> None:
    assert finding(parent_and_child(descendants=False, longest="9.8 s").model(), CHILD).severity is Severity.INFO


def test_short_waits_for_children_are_fine() -> None:
    model = Builder().thread("shell", cpu_user="5 s", wait_child=("300 ms", 30)).model()
    assert "3 % of the window" in check(model, CHILD).text

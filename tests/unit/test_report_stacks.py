"""Stacks of a report: symbolised, with account, weight and callers; what parked threads and long waits are in."""

from __future__ import annotations

from perfdiag.common.config import Config
from perfdiag.model.model import Model
from perfdiag.render.terminal import lines
from perfdiag.report import assembly
from perfdiag.report.stacks import MOST_OF_ACCOUNT

from unit.support import Builder
from unit.support.reports import diagnosis

WAIT = "__futex_abstimed_wait_common (libc.so.6)"
JOIN = [f"{name} (libc.so.6)" for name in ("__pthread_clockjoin_ex",)] + ["main (app)"]


def made(model: Model) -> assembly.Report:
    return assembly.make(model, diagnosis(model), Config())


def full(model: Model) -> str:
    return "\n".join(line.plain for line in lines(made(model), full=True))


def test_a_stack_has_its_account_weight_and_callers() -> None:
    builder = Builder().thread(cpu_user="3 s", disk_flush="1 s").row("disk.flush", "device:254:0", "1 s", count=9)
    builder.stack("cpu", user=["hot_matrix (burn)", "0x7f12 (burn)"], scan=["parse_request (burn)"], weight="2 s")
    builder.stack("cpu", user=["hot_matrix (burn)", "0x7f99 (burn)"], scan=["parse_request (burn)"], weight="500 ms")
    builder.stack("cpu", user=["other (burn)"], weight="500 ms")
    builder.stack(
        "wait", "disk.flush", object="device:254:0", kernel=["jbd2_log_wait_commit", "do_fsync"], weight="1 s", count=7
    )
    first, second, flush = made(builder.model()).stacks
    assert (first.account, first.ns, first.user) == ("cpu.user", 2_500_000_000, ["hot_matrix (burn)"])
    assert (first.callers, round(first.share, 3)) == (["parse_request (burn)"], 0.833)
    assert second.user == ["other (burn)"]
    assert (flush.account, flush.object, flush.count, flush.user) == ("disk.flush", "254:0", 7, [])
    assert flush.kernel == ["jbd2_log_wait_commit", "do_fsync"]


def test_frames_with_names_all_the_way_are_kept() -> None:
    frames = ["read (libc.so.6)", "_ZN4node5StartEiPPc (node)", "main (node)"]
    [stack] = made(Builder().thread().stack("cpu", user=[*frames, "0x1 (node)"]).model()).stacks
    assert stack.user == ["read (libc.so.6)", "node::Start (node)", "main (node)"]


def test_each_account_shows_its_heaviest() -> None:
    builder = Builder().thread(cpu_user="3 s")
    for number in range(MOST_OF_ACCOUNT + 5):
        builder.stack("cpu", user=[f"f{number} (app)"], weight=(number + 1) * 1_000_000)
    shown = made(builder.stack("wait", "disk.read", kernel=["io_schedule"], weight="1 us").model()).stacks
    assert [stack.account for stack in shown] == ["cpu.user"] * MOST_OF_ACCOUNT + ["disk.read"]
    assert shown[0].user == [f"f{MOST_OF_ACCOUNT + 4} (app)"]


def test_hostile_functions_are_shown_harmless() -> None:
    builder = Builder().thread(cpu_user="3 s").stack("cpu", user=["a\x1b[2J (app)"], scan=["b\n (app)"], weight="1 s")
    [stack] = made(builder.model()).stacks
    assert stack.user == ["a\\x1b[2J (app)"] and stack.callers == ["b\\n (app)"]
    assert "\x1b" not in full(builder.model())


def test_the_full_report_prints_stacks_with_their_callers() -> None:
    builder = Builder().thread(cpu_user="3 s")
    builder.stack("cpu", user=["hot_matrix (burn)"], scan=["parse_request (burn)"], weight="2 s", count=500)
    text = full(builder.model())
    assert "STACKS" in text and "cpu.user: 100 %, 2.00 s in 500" in text
    assert "user   hot_matrix (burn) < parse_request (burn)?" in text
    short = "\n".join(line.plain for line in lines(made(builder.model())))
    assert "STACKS" not in short


def parked(scan: list[str], waker: int = 0) -> Builder:
    builder = Builder().thread("boss", open=("wait.parked", "futex:0x10", "10 s"))
    builder.row("wait.parked", "futex:0x10", "10 s", count=1, waker_tid=waker, waker_count=1 if waker else 0)
    return builder.stack("wait", "wait.parked", object="futex:0x10", user=[WAIT], scan=scan, weight="10 s")


def test_parked_time_keeps_its_object_function_and_waker() -> None:
    builder = parked(["pthread_cond_wait (libc.so.6)", "take_job (app)"], waker=200).thread("giver", tid=200)
    document = made(builder.model())
    [entry] = [entry for entry in document.accounts if entry.account == "wait.parked"]
    assert (entry.object, entry.code, entry.kind) == ("futex 0x10", "take_job (app)", "unknown")
    assert entry.released_by and (entry.released_by.tid, entry.released_by.comm) == (200, "giver")
    said = full(builder.model())
    assert "futex 0x10: 10.0 s in 1, in take_job (app), mostly ended by giver (200)" in said
    assert "in take_job (app)) for at least 10.0 s" in " ".join(said.split())


def test_a_thread_that_waits_for_the_end_of_another_is_not_told_as_still_waiting() -> None:
    assert made(parked(["pthread_cond_wait (libc.so.6)", "take_job (app)"]).model()).still_waiting
    document = made(parked(JOIN).model())
    assert not document.still_waiting
    assert [entry.code for entry in document.accounts if entry.account == "wait.parked"] == ["pthread_join"]


def test_service_threads_of_java_are_not_told_as_still_waiting_and_its_code_is() -> None:
    park = ["pthread_cond_wait (libc.so.6)", "_ZN2os15PlatformMonitor4waitEl (libjvm.so)"]
    assert not made(parked([*park, "_ZN7Monitor4waitEl (libjvm.so)"]).model()).still_waiting
    for own in (
        "_ZN13ObjectMonitor4waitElbP10JavaThread",
        "_ZN6Parker4parkEbl",
        "_ZN8VMThread7executeEP12VM_Operation",
    ):
        assert made(parked([*park, f"{own} (libjvm.so)"]).model()).still_waiting


def test_who_released_a_lock_and_is_not_of_the_target_can_be_measured() -> None:
    builder = Builder().thread(cpu_user="1 s")
    model = builder.row("lock.file", "file:254:0:99", "3 s", count=5, waker_tid=4711, waker_count=5).model()
    assert "a thread (4711), another process: perfdiag latency --pid 4711" in " ".join(full(model).split())

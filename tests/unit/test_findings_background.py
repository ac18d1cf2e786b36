"""KSM-SCAN, THP-STALL, VIRT-CPU-MASKED, VIRT-VCPU-PINNING: what is suspected often, found or ruled out by a number."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Confidence, RemedyKind, Severity, Silence
from perfdiag.facts.host_facts import Hypervisor, Process
from perfdiag.facts.memory import KernelThread, SamePageMerging, TransparentHugePages
from perfdiag.facts.processor import Processor
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.facts import facts
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank

KSM, THP, MASKED, PINNING = "KSM-SCAN", "THP-STALL", "VIRT-CPU-MASKED", "VIRT-VCPU-PINNING"


# KSM-SCAN


def merging(behind: str, builder: Builder | None = None, *, running: bool | None = True, **known: Any) -> Model:
    builder = builder or Builder().thread("app", cpu_user="4 s")
    builder.row("runq.busy", "task:49:ksmd", behind, count=300)
    pages = blank(SamePageMerging, running=running, pages_sharing=40_321)
    return knowing(
        builder.model(),
        **({"same_page_merging": pages, "kernel_threads": {"ksmd": KernelThread(49, 6_000_000_000)}} | known),
    )


def test_waits_behind_the_search_for_equal_pages() -> None:
    found = finding(merging("600 ms"), KSM)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {("runq.busy", "task:49:ksmd"): 600_000_000}
    assert "60 %" in found.evidence[1].text and "40,321" in found.evidence[2].text
    first = found.remedies[0]
    assert first.kind is RemedyKind.TRY and first.text == "echo 0 > /sys/kernel/mm/ksm/run" and first.undo
    assert KSM in [each.id for each in diagnose(merging("600 ms")).findings]


def test_a_search_nobody_waits_for_is_ruled_out_with_its_numbers() -> None:
    text = check(merging("2 ms", vmstat={"cow_ksm": 77}), KSM).text
    assert "60 %" in text and "40,321" in text and "77" in text and "1 %" in text
    off = blank(SamePageMerging, running=False, pages_sharing=0)
    assert check(merging("1 us", same_page_merging=off), KSM).text.startswith("KSM off, 0 pages merged")


@pytest.mark.parametrize("other", ["task:7:ksmd", "task:49:ksmd2"])
def test_a_process_that_calls_itself_so_is_not_the_search(other: str) -> None:
    builder = Builder().thread("app", cpu_user="4 s").row("runq.busy", other, "600 ms", count=300)
    check(merging("2 ms", builder), KSM)
    unread = knowing(builder.model(), same_page_merging=blank(SamePageMerging, running=True))
    check(unread, KSM)


def test_a_search_that_is_not_known_of_is_not_ruled_out() -> None:
    assert silence(merging("1 us", same_page_merging=None), KSM)


# THP-STALL

ALWAYS = TransparentHugePages("always", "madvise")


def compacting(time: str, policy: TransparentHugePages | None = ALWAYS, size: str = "", **vmstat: int) -> Model:
    builder = Builder().thread("app", cpu_user="4 s").row("memory.compaction", size, time, count=400)
    return knowing(
        builder.model(),
        transparent_huge_pages=policy,
        vmstat=vmstat,
        kernel_threads={"khugepaged": KernelThread(50, 20_000_000)},
    )


def test_faults_that_make_room_for_huge_pages() -> None:
    found = finding(compacting("600 ms", compact_stall=400, thp_fault_alloc=300, thp_fault_fallback=90), THP)
    assert found.severity is Severity.WARNING and dict(found.claims) == {"memory.compaction": 600_000_000}
    first = found.remedies[0]
    assert first.text == "echo defer > /sys/kernel/mm/transparent_hugepage/defrag"
    assert first.undo == "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag"
    ids = [each.id for each in diagnose(compacting("600 ms", compact_stall=400, thp_fault_alloc=300)).findings]
    assert THP in ids and "MEM-RECLAIM" not in ids


def test_compaction_for_others_is_not_for_huge_pages() -> None:
    for vmstat in ({"compact_stall": 400, "thp_fault_alloc": 3}, {"compact_stall": 400}, {"thp_fault_alloc": 900}):
        assert "other large pages" in silence(compacting("600 ms", **vmstat), THP).reason
    never = TransparentHugePages("never", "madvise")
    assert "other" in silence(compacting("600 ms", never, compact_stall=400, thp_fault_alloc=900), THP).reason


def test_the_size_that_was_recorded_decides() -> None:
    many = {"compact_stall": 400, "thp_fault_alloc": 900}
    assert "another size" in check(compacting("600 ms", size="order:4", **many), THP).text
    ids = [each.id for each in diagnose(compacting("600 ms", size="order:4", **many)).findings]
    assert "MEM-FRAGMENTATION" in ids
    few = finding(compacting("600 ms", size="order:9", compact_stall=400, thp_fault_alloc=3), THP)
    assert few.severity is Severity.WARNING, "whatever else stalls on the host"


def test_huge_pages_that_cost_nothing_are_ruled_out_with_their_numbers() -> None:
    said = check(compacting("1 us", compact_stall=0, thp_fault_alloc=12, thp_split_page=0), THP).text
    assert "1 %" in said and "12" in said


def test_huge_pages_that_are_not_known_of_are_not_ruled_out() -> None:
    assert silence(compacting("1 us", None), THP)
    blind = Builder().thread(cpu_user="1 s").without("compaction").model()
    assert "neither" in silence(knowing(blind, transparent_huge_pages=ALWAYS), THP).reason


# VIRT-CPU-MASKED


def guest(samples: int, hidden: tuple[str, ...], machine: str = "kvm", function: str = "aesti_encrypt") -> Model:
    builder = Builder().thread("app", cpu_user="2 s", cpu_kernel="2 s", user="2 s", kernel="2 s")
    if samples:
        builder.stack("cpu", "cpu.kernel", kernel=[function, "crypto_cbc_encrypt"], count=samples)
        builder.stack("cpu", "cpu.kernel", kernel=["vfs_read"], count=200 - samples)
        builder.stack("cpu", "cpu.user", user=["work (app)"], count=200)
    processor = blank(
        Processor, model="Intel Xeon E312xx (Sandy Bridge)", flags=frozenset({"hypervisor"}), masked_features=hidden
    )
    return knowing(builder.model(), hypervisor=Hypervisor(machine, "test"), processor=processor)


def test_work_done_by_hand_because_the_model_hides_an_instruction() -> None:
    found = finding(guest(100, ("aes", "avx2")), MASKED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)


def test_a_hidden_instruction_that_nobody_misses() -> None:
    assert "aes" in check(guest(3, ("aes",)), MASKED).text
    assert check(guest(100, ("nonstop_tsc",)), MASKED).text == "the CPU model hides 1 useful features (nonstop_tsc)"
    assert check(guest(100, ()), MASKED).number == 0.0
    assert "sse4_2" in check(guest(100, ("sse4_2",)), MASKED).text, "AES by hand, but AES is not hidden"
    assert "bare metal" in check(guest(100, (), machine="none"), MASKED).text


def test_a_model_that_is_not_known_is_not_ruled_out() -> None:
    assert silence(knowing(Builder().thread(cpu_user="1 s").model()), MASKED)
    assert "too few" in silence(guest(0, ("aes",)), MASKED).reason


# VIRT-VCPU-PINNING


def machine(cpus: list[str | None], behind: str = "900 ms", comm: str = "CPU {}/KVM", guest: str = "0 ms") -> Model:
    builder = Builder(comm="qemu-system-x86").thread("qemu-system-x86", cpu_user="1 s")
    for number in range(len(cpus)):
        builder.thread(comm.format(number), tid=110 + number, cpu_kernel="4 s", vm_guest=guest)
    builder.row("runq.busy", "own:100:qemu-system-x86", behind, count=900)
    bound = {110 + number: text for number, text in enumerate(cpus) if text}
    process = blank(Process, pid=100, cpus_allowed="0-7" if all(cpus) else None, thread_cpus=bound)
    return knowing(builder.model(), processes={100: process})


def test_virtual_cpus_bound_to_one_cpu() -> None:
    found = finding(machine(["3", "3", "5"]), PINNING)
    assert found.severity is Severity.WARNING
    assert dict(found.claims) == {("runq.busy", "own:100:qemu-system-x86"): 900_000_000}
    assert "3 virtual CPUs, 3 bound to one CPU each" in found.evidence[1].text


def test_virtual_cpus_that_do_not_meet_are_fine() -> None:
    said = check(machine(["2", "3"]), PINNING)
    assert said.text.startswith("2 virtual CPUs, 2 bound to one CPU each; they waited") and said.unit == "share"
    assert "0 bound" in check(machine(["0-3", "0-3"]), PINNING).text
    assert isinstance(check(machine(["3", "3"], behind="1 ms"), PINNING), Check)


def test_virtual_cpus_of_which_nothing_is_known() -> None:
    assert isinstance(silence(machine([None, "3"]), PINNING), Silence)
    assert outcomes(Builder().thread("app", cpu_user="1 s").model(), PINNING) == [], "no guest, no word"


@pytest.mark.parametrize(("guest", "told"), [("2 s", True), ("0 ms", False)])
def test_who_has_been_in_a_guest_is_a_virtual_cpu_whatever_its_name(guest: str, told: bool) -> None:
    """A virtual machine monitor of one's own: 'Nothing abnormal was found' at 49 % behind each other."""
    found = outcomes(machine(["0", "0"], comm="vmm", guest=guest), PINNING)
    assert [each.headline for each in found if not isinstance(each, Check | Silence)] == [
        "2 virtual CPUs are bound to CPU 0 and wait for each other"
    ] * told


# What is read for them


def test_cpu_time_of_kernel_threads() -> None:
    begin = {"/proc/49/comm": "ksmd\n", "/proc/49/schedstat": "1000 5 9\n", "/proc/50/comm": "khugepaged\n"}
    known = facts(begin, {"/proc/49/comm": "ksmd\n", "/proc/49/schedstat": "251000 5 19\n"})
    assert known.kernel_threads == {"ksmd": KernelThread(49, 250_000)}, "of the other nothing is known, not zero"
    assert known.processes == {}, "they are no targets"

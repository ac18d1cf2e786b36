"""CPU-BOUND, CPU-KERNEL-HEAVY, CPU-SINGLE-THREAD: what the target's own running is made of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part
from perfdiag.diagnosis.evidence.cpu.time_split import split_error
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.facts.host_facts import Process
from perfdiag.model.model import Model
from perfdiag.recording.schema import NO_TIME_LOST

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank

COMPRESS = ["deflate_slow (libz.so.1)", "compress (app)"]


def computing(samples: int = 400, other: int = 100) -> Builder:
    builder = Builder().thread("worker", cpu_user="8 s", cpu_kernel="500 ms")
    if samples:
        builder.stack("cpu", user=COMPRESS, count=samples)
    if other:
        builder.stack("cpu", user=["parse (app)"], count=other)
    return builder


# CPU-BOUND


@pytest.mark.parametrize(
    ("frame", "advice"),
    [
        ("0x130e1f (app)", "install debug symbols"),
        ("parse (app)", "make parse (app) cheaper"),
        ("deflate_slow (libz.so.1)", "find what calls deflate_slow (libz.so.1)"),
        ("java.util.ArrayList.indexOf (jit)", "find what calls java.util.ArrayList.indexOf (jit)"),
        ("deflate_slow (libz.so.1) below pack (app)", "call deflate_slow (libz.so.1) less in pack (app)"),
        ("memcpy (libc.so.6) below main (app)", "find what calls memcpy (libc.so.6)"),
    ],
)
def test_only_a_function_of_the_programs_own_is_to_be_made_cheaper(frame: str, advice: str) -> None:
    builder = Builder().thread("worker", cpu_user="8 s").stack("cpu", user=frame.split(" below "), count=400)
    assert advice in finding(builder.model(), "CPU-BOUND").remedies[0].text


def test_computing_is_profile_and_names_the_function_with_its_error() -> None:
    found = finding(computing().model(), "CPU-BOUND")
    assert found.severity is Severity.INFO and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {"cpu.user": 8_000_000_000}
    functions = found.evidence[-1]
    assert functions.value == 0.8 and functions.error == pytest.approx(0.035, abs=0.001)


def test_a_function_that_stands_out_is_named_though_it_is_not_most() -> None:
    """initCEN had 49 % of the samples, and "java computes in its own code"."""
    hot = Builder().thread("app", cpu_user="9 s").stack("cpu", user=["initCEN (app)"], count=45)
    for number in range(5):
        hot.stack("cpu", user=[f"work{number} (app)"], count=11)
    assert finding(hot.model(), "CPU-BOUND").headline.endswith("in its own code, above all in initCEN (app)")


@pytest.mark.parametrize(("other", "told"), [({"cpu_stolen": "4 s"}, True), ({"disk_write": "4 s"}, False)])
def test_time_without_a_cpu_hides_no_computing(other: dict[str, str], told: bool) -> None:
    """The hypervisor took half of the CPU: what the target computed was 43 % of its time, and was not told."""
    builder = Builder().thread("app", cpu_user="4 s", rest="disk.read", **other)
    assert ("CPU-BOUND" in [each.id for each in diagnose(builder.model()).findings]) is told


def test_time_spread_over_the_functions_of_a_library_is_that_librarys() -> None:
    """LLVM compiled each query of a server in hundreds of functions, and was named by none of them."""
    builder = Builder().thread("postgres", cpu_user="8 s")
    for number in range(60):
        builder.stack("cpu", user=[f"_ZN4llvm4pass{number:02}3runEv (libLLVM-14.so.1)"], count=5)
    builder.stack("cpu", user=["ExecScan (postgres)"], count=50).stack("cpu", user=["memcpy (libc.so.6)"], count=60)
    found = finding(builder.model(), "CPU-BOUND")
    assert found.headline.endswith(" computes in libLLVM-14.so.1")
    assert "libLLVM-14.so.1 is innermost in 73 %" in found.claim
    assert finding(computing(400, 399).stack("cpu", user=["x"], count=9).model(), "CPU-BOUND").headline.endswith(
        "its own code"
    )


def path(*functions: str) -> list[str]:
    return ["clock_gettime ([vdso])", "clock_gettime (libc.so.6)", "_ZN4node7process3NowEv (node)", *functions]


@pytest.mark.parametrize(
    ("report", "called"),
    [
        (60, ["busy (server.js:6)", "report (server.js:16)"]),
        (40, ["busy (server.js:6)"]),
    ],
)
def test_who_calls_the_hottest_function(report: int, called: list[str]) -> None:
    """Of what was compiled while it ran only that; a caller that holds half of the samples, and the caller of that."""
    server = "/srv/server.js"
    busy = f"JS:*busy {server}:6:14 (jit)"
    builder = Builder().thread("node", cpu_user="8 s")
    for name, line, count in (("report", 16, report), ("page", 11, 35), ("list", 20, 65 - report + 1)):
        caller = f"JS:^{name} {server}:{line}:2 (jit)"
        builder.stack("cpu", user=path(busy, caller, "JS:^emit node:events:471:44 (jit)", "main (node)"), count=count)
    model = builder.stack("cpu", user=["parse (node)", "other (node)"], count=90).model()
    assert CpuSamples(model).callers() == called


def test_callers_of_compiled_programs() -> None:
    def callers(*frames: str) -> list[str]:
        return CpuSamples(Builder().thread(cpu_user="8 s").stack("cpu", user=frames, count=99).model()).callers()

    assert callers("memcpy (libc.so.6)", "_ZN3app4loadEv (app)", "0x4711 (app)", "main (app)") == [
        *("app::load (app)", "main (app)")
    ]
    assert callers("memcpy (libc.so.6)", "qsort (libc.so.6)") == [] == callers("memcpy (libc.so.6)") == callers()


def test_callers_that_the_walk_lost_are_found_by_the_scan() -> None:
    """Code without frame pointers: of what earlier calls left on the stack, little is on most of them."""
    builder = Builder().thread(cpu_user="8 s")
    for place, left in enumerate(("parse (app)", "emit (app)", "load (app)")):
        scan = ["__isoc99_sscanf (libc.so.6)", left, "sum_of (app)", "main (app)", "__libc_start_main (libc.so.6)"]
        lost = ["0x7ffc45cdd95f", "0x72702f74756f3472"] if place else []
        builder.stack("cpu", user=["__rawmemchr_evex (libc.so.6)", *lost], scan=scan, count=33)
    model = builder.model()
    assert CpuSamples(model).callers() == ["sum_of (app)", "main (app)"]
    walked = Builder().thread(cpu_user="8 s").stack("cpu", user=["f (app)", "g (app)"], scan=["left (app)"], count=99)
    assert CpuSamples(walked.model()).callers() == ["g (app)"]


def test_half_the_time_is_not_bound() -> None:
    model = Builder().thread(cpu_user="2 s", disk_read="2100 ms").model()
    assert check(model, "CPU-BOUND").number == pytest.approx(2 / 4.1)


def test_without_stacks_no_function_is_named() -> None:
    found = finding(computing(0, 0).without("stacks").model(), "CPU-BOUND")
    assert found.confidence is Confidence.MEDIUM
    assert "deflate" not in found.claim


def test_functions_without_names_are_said() -> None:
    model = Builder().thread(cpu_user="8 s").stack("cpu", user=["0x4711 (app)"], count=300).model()
    assert any("no function name" in limit for limit in finding(model, "CPU-BOUND").limits)


def test_addresses_without_names_are_summed_by_module() -> None:
    builder = Builder().thread(cpu_user="8 s").stack("cpu", user=["main (app)"], count=100)
    for address in range(60):
        builder.stack("cpu", user=[f"0x{address:x} (libcrypto.so.3)"], count=5)
    assert (
        "libcrypto.so.3" in finding(builder.model(), "CPU-BOUND").claim
        and "75 %" in finding(builder.model(), "CPU-BOUND").claim
    )


def test_a_few_samples_name_nothing() -> None:
    found = finding(computing(20, 10).model(), "CPU-BOUND")
    assert "deflate" not in found.claim and any("only 30 CPU samples" in limit for limit in found.limits)


def test_lost_records_lower_the_confidence() -> None:
    assert finding(computing().lost(ring_buffer=5_000).model(), "CPU-BOUND").confidence is Confidence.MEDIUM


def test_records_that_took_no_time_with_them_lower_nothing() -> None:
    whole = finding(computing().model(), "CPU-BOUND")
    lost = dict.fromkeys(NO_TIME_LOST, 5_000)
    assert finding(computing().lost(**lost).model(), "CPU-BOUND").confidence is whole.confidence
    assert finding(computing().cut().model(), "CPU-BOUND").confidence is Confidence.MEDIUM


def test_samples_inside_reclaim_are_not_the_targets_code() -> None:
    model = computing(100, 0).stack("cpu", "memory.reclaim", kernel=["shrink_node"], count=900).model()
    assert CpuSamples(model).count == 100


def test_no_sample_of_a_function_still_allows_for_three_in_n() -> None:
    samples = CpuSamples(computing(300, 0).model())
    assert samples.part(lambda stack: False) == Part(0.0, 0.01, 0)


# CPU-KERNEL-HEAVY


def in_kernel(
    kernel: str = "6 s", user: str = "2 s", functions: tuple[str, ...] = ("vfs_read", "ksys_read"), count: int = 400
) -> Builder:
    builder = Builder().thread("worker", cpu_user=user, cpu_kernel=kernel)
    return builder.stack("cpu", "cpu.kernel", kernel=list(functions), count=count) if count else builder


def test_a_busy_kernel_is_profile_and_says_what_for() -> None:
    found = finding(in_kernel().model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.INFO
    assert "75 %" in found.claim
    assert "100 %" in found.evidence[1].text and "1 %" in found.evidence[1].text
    assert dict(found.claims) == {"cpu.kernel": 6_000_000_000}


def test_work_of_several_kinds_is_told_with_their_parts() -> None:
    """ "looking up file names (70 %)" stood for 44 % of them: the rest was the log that each line opened."""
    builder = in_kernel(functions=("do_sys_openat2",), count=180).stack(
        "cpu", "cpu.kernel", kernel=["vfs_write"], count=140
    )
    found = finding(
        builder.stack("cpu", "cpu.kernel", kernel=["__x64_sys_close"], count=80).model(), "CPU-KERNEL-HEAVY"
    )
    parts = "looking up file names 45 %, files 35 %, closing descriptors 20 %"
    assert found.headline.endswith(f"is busy in the kernel: {parts}")


def test_a_tracer_is_no_profile_of_the_target() -> None:
    """A probe was left on a hot function: 94 % in the kernel were "no problem"."""
    found = finding(in_kernel(functions=("irqentry_exit_to_user_mode", "asm_exc_int3")).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.WARNING and "breakpoints of a tracer" in found.headline
    assert "bpftool perf list" in found.remedies[0].text


def test_work_of_no_known_kind_is_named_by_its_system_call() -> None:
    model = in_kernel(functions=("chacha_permute", "get_random_bytes_user", "__x64_sys_getrandom")).model()
    assert "getrandom()" in finding(model, "CPU-KERNEL-HEAVY").claim


def test_own_code_dominates_below_two_fifths() -> None:
    assert check(in_kernel("3 s", "5 s").model(), "CPU-KERNEL-HEAVY").number == pytest.approx(3 / 8)


@pytest.mark.parametrize(("waits", "large"), [("1 s", True), ("9 s", False)])
def test_most_of_next_to_no_cpu_time_is_not_large(waits: str, large: bool) -> None:
    """60 ms of 1.06 s are worth a line, of 9.06 s they are not."""
    assert check(in_kernel("60 ms", "0 ns").thread("b", disk_read=waits).model(), "CPU-KERNEL-HEAVY").large is large


def test_waiting_for_each_other_in_kernel_locks_is_a_fault() -> None:
    model = (
        in_kernel("4 s", "5 s", ("native_queued_spin_lock_slowpath", "_raw_spin_lock", "futex_wake"), 120)
        .stack("cpu", user=["work (app)"], count=280)
        .model()
    )
    found = finding(model, "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.WARNING
    assert found.claims["cpu.kernel"] == pytest.approx(0.3 * 9e9)
    assert found.evidence[0].error


def test_the_two_ends_of_a_pipe_that_take_turns_are_no_contention() -> None:
    """tar wrote 900 MiB/s for wc: "use fewer threads on the same file", a report said, as the mutex of the pipe is held
    while either end copies."""
    spins = ("mutex_spin_on_owner", "__mutex_lock", "anon_pipe_read", "vfs_read")
    found = finding(in_kernel("4 s", "5 s", spins, 120).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.INFO and "pipes and local sockets" in found.headline


def test_a_little_spinning_in_kernel_locks_is_none() -> None:
    model = (
        in_kernel("1 s", "8 s", ("native_queued_spin_lock_slowpath",), 40)
        .stack("cpu", user=["work (app)"], count=360)
        .model()
    )
    assert check(model, "CPU-KERNEL-HEAVY").number < 0.4


def unsplit(model: Model, error: float | None) -> Model:
    return replace(model, threads=[replace(thread, cpu_split_error=error) for thread in model.threads])


def test_too_few_ticks_cannot_tell_user_from_kernel() -> None:
    model = unsplit(in_kernel("2500 ms", "5 s", count=0).model(), 0.3)
    assert "too few ticks" in silence(model, "CPU-KERNEL-HEAVY").reason
    sure = unsplit(in_kernel("2500 ms", "5 s", count=0).model(), 0.02)
    assert check(sure, "CPU-KERNEL-HEAVY").number == pytest.approx(1 / 3)


def test_threads_without_ticks_know_nothing_of_the_split() -> None:
    assert split_error(unsplit(computing().model(), None)) == 0.5
    found = finding(unsplit(in_kernel().model(), None), "CPU-KERNEL-HEAVY")
    assert found.confidence is not Confidence.HIGH


def test_time_that_no_tick_divides_is_not_said_to_be_own_code() -> None:
    little = Builder().thread("a", cpu_user="17 ms", disk_read="3 s").model()
    assert check(unsplit(little, 0.3), "CPU-BOUND").text == "own code 17.0 ms, 1 % of busy time"
    for error in (0.6, 1.0):
        model = unsplit(little, error)
        assert "17.0 ms" in check(model, "CPU-BOUND").text and "1 %" in check(model, "CPU-BOUND").text
        assert "17.0 ms" in check(model, "CPU-KERNEL-HEAVY").text
    assert finding(computing().model(), "CPU-BOUND")
    assert finding(unsplit(computing().model(), 0.9), "CPU-BOUND")


# CPU-SINGLE-THREAD


def one_of_many(hot: str = "9700 ms", second: str = "1 s", cpus: int = 4) -> Builder:
    builder = Builder(cpus=cpus).thread("main", cpu_user=hot)
    builder.stack("cpu", user=["evaluate (app)"], count=500)
    for _ in range(3):
        builder.thread("worker", cpu_user=second)
    return builder


def test_one_full_thread_beside_idle_ones_is_the_limit() -> None:
    found = finding(one_of_many().model(), "CPU-SINGLE-THREAD")
    assert found.severity is Severity.INFO and "main runs 97 %" in found.claim
    assert dict(found.claims) == {"cpu.user": 9_700_000_000}
    assert any("evaluate (app)" in evidence.text for evidence in found.evidence)


def test_a_full_thread_that_is_in_the_kernel_says_so_and_what_for() -> None:
    """It read "this one thread is the limit" of one that was in getrandom() for 96 % of the time."""

    def claim(user: str, kernel: str, samples: int = 400) -> str:
        builder = Builder().thread("main", cpu_user=user, cpu_kernel=kernel)
        frames = ["chacha_permute", "__x64_sys_getrandom", "do_syscall_64"]
        builder.stack("cpu", "cpu.kernel", kernel=frames, count=samples).thread("worker", cpu_user="1 s")
        return finding(builder.model(), "CPU-SINGLE-THREAD").claim

    assert "97 %" in claim("300 ms", "9400 ms") and "getrandom()" in claim("300 ms", "9400 ms")
    assert "97 %" in claim("300 ms", "9400 ms", 20)


def test_the_poller_of_a_ring_limits_nobody() -> None:
    """A server slept 20 ms over each request, and was told that the kernel's poller of its ring was the limit."""

    def found(name: str, user: str) -> bool:
        builder = Builder().thread("app", wait_timer="9 s").thread(name, tid=101, cpu_kernel="9700 ms", cpu_user=user)
        return any(each.id == "CPU-SINGLE-THREAD" for each in diagnose(builder.model()).findings)

    assert not found("iou-sqp-100", "0 ns")
    assert found("iou-sqp-100", "100 ms") and found("worker", "0 ns")


def test_samples_are_those_of_its_process_whichever_thread_was_met_first() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", tid=101, cpu_user="200 ms")
    builder.thread("other", pid=200, cpu_user="200 ms").stack("cpu", user=["other (app)"], count=400)
    builder.stack("cpu", user=["evaluate (app)"], count=500, pid=100, tid=101)
    texts = [evidence.text for evidence in finding(builder.model(), "CPU-SINGLE-THREAD").evidence]
    assert any("100 %" in text and "500" in text for text in texts)


def test_it_is_a_fault_when_others_wait_for_it() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", cpu_user="200 ms")
    builder.row("lock.futex", "futex:0x10", "8 s", count=800, waker_tid=100, waker_count=700)
    found = finding(builder.model(), "CPU-SINGLE-THREAD")
    assert found.severity is Severity.WARNING and "others wait for it" in found.claim


def test_locks_that_somebody_else_released_prove_nothing() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", cpu_user="200 ms")
    builder.row("lock.futex", "futex:0x10", "8 s", count=800, waker_tid=100, waker_count=300)
    assert finding(builder.model(), "CPU-SINGLE-THREAD").severity is Severity.INFO


@pytest.mark.parametrize(
    "model",
    [
        one_of_many("8500 ms").model(),
        one_of_many(second="6 s").model(),
        one_of_many(second="9800 ms").model(),
        one_of_many(cpus=1).model(),
    ],
    ids=["has room", "others work too", "several full", "one CPU"],
)
def test_no_single_thread_is_the_limit(model: Model) -> None:
    check(model, "CPU-SINGLE-THREAD")


def test_a_program_with_one_thread_is_left_to_cpu_bound() -> None:
    model = computing().model()
    assert outcomes(model, "CPU-SINGLE-THREAD") == []
    assert [found.id for found in diagnose(model).findings] == ["CPU-BOUND"]


def test_affinity_to_one_cpu_leaves_no_room_for_more_threads() -> None:
    pinned = blank(Process, pid=100, cpus_allowed="2")
    check(knowing(one_of_many().model(), processes={100: pinned}), "CPU-SINGLE-THREAD")


def test_threads_that_ended_cannot_be_told_apart() -> None:
    model = Builder().thread("main", cpu_user="1 s").exited(threads=40, wall="9 s").model()
    assert "ended" in silence(model, "CPU-SINGLE-THREAD").reason


def test_it_supersedes_cpu_bound() -> None:
    diagnosis = diagnose(one_of_many(second="10 ms").model())
    assert [found.id for found in diagnosis.findings][:1] == ["CPU-SINGLE-THREAD"]
    assert [found.id for found in diagnosis.superseded] == ["CPU-BOUND"]

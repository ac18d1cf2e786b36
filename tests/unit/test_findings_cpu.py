"""CPU-BOUND: the target's own code, and whose functions it is in."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples, Part
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.stacks.scripts import java_library
from perfdiag.recording.schema import NO_TIME_LOST

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding

COMPRESS = ["deflate_slow (libz.so.1)", "compress (app)"]


def computing(samples: int = 400, other: int = 100) -> Builder:
    builder = Builder().thread("worker", cpu_user="8 s", cpu_kernel="500 ms")
    if samples:
        builder.stack("cpu", user=COMPRESS, count=samples)
    if other:
        builder.stack("cpu", user=["parse (app)"], count=other)
    return builder


@pytest.mark.parametrize(
    ("frame", "advice"),
    [
        ("0x130e1f (app)", "install debug symbols"),
        ("parse (app)", "make parse (app) cheaper"),
        ("deflate_slow (libz.so.1)", "find what calls deflate_slow (libz.so.1)"),
        ("java.util.ArrayList.indexOf (jit)", "find what calls ArrayList.indexOf (jit)"),
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


def test_time_spread_over_the_methods_of_a_library_of_java_is_that_librarys() -> None:
    """A new ObjectMapper was made for each article: no method had a tenth of the samples."""
    builder = Builder().thread("worker", cpu_user="8 s")
    for name in (
        "type.TypeFactory._fromClass",
        "introspect.POJOPropertiesCollector.collectAll",
        "type.TypeBase.<init>",
    ):
        below = [
            f"java.util.HashMap.of{len(name)} (jit)",
            f"com.fasterxml.jackson.databind.{name} (jit)",
            "shop.Page.main (jit)",
        ]
        builder.stack("cpu", user=below, count=100)
        builder.stack("cpu", user=below[1:], count=50)
    builder.stack("cpu", user=["shop.Page.main (jit)"], count=50)
    found = finding(builder.model(), "CPU-BOUND")
    assert "in com.fasterxml.jackson" in found.headline


def test_methods_of_other_languages_have_no_package() -> None:
    for frame in ("julia_foo_12 (jit)", "lists:reverse/1 (jit)", "py::busy:/srv/app.py (jit)", "Main.run (jit)"):
        (stack,) = Builder().thread("worker", cpu_user="1 s").stack("cpu", user=[frame]).model().stacks
        assert java_library(stack) == "", frame


def test_what_compiles_beside_requests_is_not_what_they_wait_for() -> None:
    """The JIT compiler had 78 % of the samples, beside requests that computed 78 % of their time."""
    builder = Builder().thread("C2 CompilerThre", tid=101, cpu_user="5 s")
    builder.thread("worker", tid=102, cpu_user="4 s").reads(20)
    builder.line(exchange(20, 4_000_000_000, {"cpu.user": 4_000_000_000})).line(latency([200_000_000] * 20))
    builder.stack("cpu", user=["PhaseChaitin (libjvm.so)"], tid=101, count=500)
    builder.stack("cpu", user=["shop.Page.render (jit)"], tid=102, count=200)
    assert "Page.render" in finding(builder.model(), "CPU-BOUND").headline


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

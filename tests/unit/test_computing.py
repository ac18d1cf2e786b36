"""The first sentence on a target that computes: for how much of whose time, and in what."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.report.contract import Verdict
from perfdiag.report.verdict.computing import computes
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.reports import made
from unit.support.shown import plain

S, MS = 1_000_000_000, 1_000_000


def computing(frame: str = "", *, requests: bool = True, ran: str = "3 s", kernel: bool = False) -> Builder:
    ticks = {"user": "100 ms", "kernel": "2900 ms"} if kernel else {}
    builder = Builder(comm="server").thread("worker", cpu_user=ran, runq_waking="100 ms", **ticks)
    where = {"kernel": [frame]} if kernel else {"user": [frame]}
    builder.stack("cpu", count=100, **where) if frame else None
    for line in served(400, 31 * MS // 4, {"cpu.user": 3 * S, "runq.waking": S // 10}) if requests else ():
        builder.line(line)
    return builder


def verdict(builder: Builder) -> Verdict:
    model = builder.model()
    return made(model, *diagnose(model).findings).verdict


@pytest.mark.parametrize(
    ("frame", "names"),
    [
        ("inflate (zlib.so.1)", ["inflate (zlib.so.1)"]),
        ("0x130e1f (libcrypto.so.3)", ["libcrypto.so.3", "unnamed functions of"]),
        ("0x7f9594eebd25 (anonymous)", ["made at run time"]),
        ("", []),
    ],
)
@pytest.mark.parametrize("requests", [True, False])
def test_it_is_the_first_sentence_with_the_functions(frame: str, names: list[str], requests: bool) -> None:
    found = verdict(computing(frame, requests=requests))
    assert found.kind == Kind.PROFILE.value and found.ids == ["CPU-BOUND"]
    assert "97 %" in found.sentences[0]
    assert all(name in found.sentences[0] for name in names), found.sentences
    assert ("(in " in found.sentences[0]) == bool(frame)


def test_kernel_code_is_told_from_own() -> None:
    model = computing("copy_page_range", requests=False, kernel=True).model()
    text = computes(model, diagnose(model).findings)
    assert "is busy in the kernel" in text and "copy_page_range" in text


def test_who_computes_for_the_smaller_part_is_not_said_to() -> None:
    model = computing(requests=False, ran="100 ms").model()
    assert computes(model, diagnose(model).findings) == "" == computes(model, [])


def test_what_it_computes_for_is_told_and_more_cpus_are_for_more_threads() -> None:
    """Redis sorted 50,000 keys for each SORT: its functions were told, and "more or faster CPUs" for its one thread."""
    builder = Builder(comm="server").thread("worker", cpu_user="3 s").stack("cpu", user=["sort (server)"], count=100)
    for line in served(400, 31 * MS // 4, {"cpu.user": 3 * S}, name="SORT"):
        builder.line(line)
    told = made(model := builder.model(), *diagnose(model).findings)
    assert told.verdict.sentences[0].startswith("server (100) is computing for SORT: "), told.verdict.sentences
    assert told.findings[0].remedy[0].text.endswith(", or use a faster CPU")


def test_of_work_in_the_kernel_it_names_who_called_it() -> None:
    """What the program can change is no function of the kernel."""
    builder = computing(kernel=True)
    for scan, count in {"__tzfile_read (libc.so.6)": 90, "main (server)": 10}.items():
        builder.stack("cpu", kernel=["link_path_walk"], user=["fstatat (libc.so.6)"], scan=[scan], count=count)
    assert "called by fstatat (libc.so.6), __tzfile_read (libc.so.6))" in verdict(builder).sentences[0]


def samples(*stacks: tuple[list[str], int]) -> Builder:
    builder = computing()
    for user, count in stacks:
        builder.stack("cpu", user=user, count=count)
    return builder


def test_small_functions_of_libraries_are_told_with_what_they_are_inside_of() -> None:
    """A file was read line by line; the headline named strlen."""
    read = "ap_cfg_getline (apache2)"
    builder = samples((["strlen (libc.so.6)", read], 40), (["apr_file_gets (libapr.so)", read], 45), (["a (b.so)"], 15))
    said = "in apr_file_gets (libapr.so) and strlen (libc.so.6), inside ap_cfg_getline (apache2)"
    assert said in verdict(builder).sentences[0], verdict(builder).sentences


def test_a_hot_function_is_told_with_its_callers_whatever_else_is_hot() -> None:
    callers = ["VRY_Match (varnishd)", "HSH_Lookup (varnishd)"]
    builder = samples((["memcmp (libc.so.6)", *callers], 78), (["0x1 (varnishd)"], 22))
    assert "in memcmp (libc.so.6) called by VRY_Match" in verdict(builder).sentences[0]


def test_what_is_inside_a_module_that_is_hot_all_over_needs_no_name() -> None:
    loop = "eval (python3)"
    builder = samples((["0x1 (libz.so)", loop], 45), (["0x2 (python3)", loop], 40), ([loop], 15))
    assert "inside" not in verdict(builder).sentences[0]


def test_what_was_called_in_a_library_without_names_is_told() -> None:
    """99 % of a server's time stood in "unnamed functions of libcrypto.so.3": what for was on each stack."""
    inside = ["0x130e1f (libcrypto.so.3)", "SHA256_Update (libcrypto.so.3)", "X509_verify_cert (libcrypto.so.3)"]
    builder = Builder(comm="server").thread("worker", cpu_user="3 s")
    builder.stack("cpu", user=[*inside, "tls_process (libssl.so.3)", "main (server)"], count=100)
    assert "unnamed functions of libcrypto.so.3 below X509_verify_cert" in verdict(builder).text


def test_one_thread_that_computes_is_told_with_its_function() -> None:
    builder = (
        Builder(comm="node").thread("node", tid=100, cpu_user="9900 ms").thread("helper", tid=101, cpu_user="1 ms")
    )
    builder.stack("cpu", tid=100, user=["JS:*sweep /srv/service.js:8:1 (jit)"], count=900)
    text = verdict(builder).text
    assert "sweep (service.js:8)" in text, text


def test_who_computes_while_requests_are_not_followed_is_told() -> None:
    """98 % of request time had no known cause, while processes of the target computed for nearly all of it."""
    builder = Builder(comm="git-daemon").thread("git-daemon", cpu_user="100 ms", requests=(40, 40))
    builder.thread("git", tid=200, wall="7 s", cpu_user="6 s", rest="wait.child", exited=True)
    builder.stack("cpu", pid=200, tid=200, user=["inflate (libz.so.1)"], count=300)
    for line in served(40, 200 * MS, {"cpu.user": 100 * MS}, whole=0, whole_ns=0):
        builder.line(line)
    told = verdict(builder)
    assert told.kind == Kind.CANNOT_TELL.value, told
    assert "Meanwhile 1 other thread (git) computed for 6.00 s, mostly in inflate (libz.so.1)" in told.text, told


LOOKS = ["load (app)", "serve (app)"]


@pytest.mark.parametrize("requests", [True, False])
def test_own_code_and_the_kernels_are_one_work_below_a_function_of_both(requests: bool) -> None:
    """Neither was most of the time: the report said that nothing was abnormal, and 600 files were read a request."""

    def mixed(kernel_stack: list[str]) -> Builder:
        ticks = {"user": "1500 ms", "kernel": "1500 ms"}
        builder = Builder(comm="server").thread("worker", cpu_user="3 s", runq_waking="60 ms", **ticks)
        builder.stack("cpu", user=["parse (app)", *LOOKS], count=100)
        builder.stack("cpu", kernel=["do_sys_open"], user=kernel_stack, count=100)
        for line in served(20, 153 * MS, {"cpu.user": 3 * S, "runq.waking": 60 * MS}) if requests else ():
            builder.line(line)
        return builder

    found = verdict(mixed(["open64 (libc.so.6)", *LOOKS]))
    assert "own code and the kernel's, below load (app), called by serve (app)" in found.text, found.text
    assert found.status == ("busy" if requests else "ok"), "3 s of 10 s are not long where nobody waits for them"
    assert "below" not in verdict(mixed(["open64 (libc.so.6)", "rotate (app)"])).text


def test_kernel_code_that_is_most_is_no_answer_where_the_program_computes_below_the_same() -> None:
    """Page faults were 53 %, and "reuse buffers" the remedy of who read a whole log for its last lines."""

    def told(own: str, kernel: str, samples: tuple[int, int]) -> str:
        builder = Builder(comm="server").thread("worker", cpu_user=own, cpu_kernel=kernel)
        for call in ("memcpy (libc.so.6)", "brk (libc.so.6)"):
            builder.stack("cpu", kernel=["asm_exc_page_fault"], user=[call, *LOOKS], count=samples[1])
        builder.stack("cpu", user=["parse (app)", *LOOKS], count=samples[0])
        return verdict(builder).text

    assert "own code and the kernel's, below load (app), called by serve (app)" in told("2 s", "3 s", (40, 30))
    assert "is busy in the kernel" in told("500 ms", "4500 ms", (10, 45))


def test_what_needs_the_cpu_that_it_lacks_is_told_beside_that() -> None:
    """Each request tried 40,000 regular expressions, and its hypervisor alone was blamed."""
    builder = Builder(comm="server").thread("worker", cpu_user="4 s", cpu_stolen="4100 ms")
    builder.stack("cpu", user=["match (app)"], count=100)
    for line in served(20, 405 * MS, {"cpu.user": 4 * S, "cpu.stolen": 4100 * MS}):
        builder.line(line)
    found = verdict(builder)
    assert found.ids == ["CPU-STOLEN", "CPU-BOUND"] and "computes in match (app)" in found.text, found


@pytest.mark.parametrize(("ran", "who"), [("8 s", "zip"), ("1 s", "The target")])
def test_the_program_that_works_for_a_script_is_named(ran: str, who: str) -> None:
    """Of one that has less than four fifths of the CPU time nothing is said."""
    builder = Builder(comm="sh").thread("sh", rest="wait.child").thread("cat", pid=102, tid=102, cpu_user="900 ms")
    builder.thread("zip", pid=101, tid=101, cpu_user=ran, kernel=ran, user="1 ms")
    builder.stack("cpu", kernel=["copy_page_to_iter"], user=["write (libc.so.6)"], count=100)
    assert f"{who} is busy in the kernel" in verdict(builder).text


def test_where_the_walk_ends_the_scan_goes_on() -> None:
    """Java's methods keep no frame pointers: behind the first of them nothing was named."""
    user = ["StubRoutines (2) (libjvm.so)", "engineDigest (jit)"]
    scan = ["left (jit)", "engineDigest (jit)", "doFinal (jit)", "deriveKey (jit)"]
    builder = Builder(comm="java").thread("http", cpu_user="9 s").stack("cpu", user=user, scan=scan, count=100)
    names = [each.name for each in CpuSamples(builder.model()).hot_path()]
    assert "deriveKey (jit)" in names and "left (jit)" not in names


def test_functions_of_the_systems_libraries_are_no_callers_of_the_kernel() -> None:
    builder = Builder().thread("app", cpu_user="9 s", kernel="9 s")
    scan = ["_int_memalign (libc.so.6)", "load_pixels (libimage.so.6)"]
    builder.stack("cpu", kernel=["filemap_read"], user=["pread (libc.so.6)"], scan=scan, count=100)
    assert CpuSamples(builder.model()).entrances() == ["pread (libc.so.6)", "load_pixels (libimage.so.6)"]


def test_the_function_of_a_script_that_calls_the_kernel_is_named_once() -> None:
    """ "Called by whole (service.py:13), whole (service.py:13)"."""
    builder = Builder().thread("python3", cpu_user="9 s", kernel="9 s")
    script = ["whole (/srv/service.py:13)", "page (/srv/service.py:29)"]
    for call in ("read (libc.so.6)", "munmap (libc.so.6)", "PyBytes_Resize (python3)"):
        builder.stack("cpu", kernel=["asm_exc_page_fault"], user=[call], script=script, count=100)
    samples = CpuSamples(builder.model())
    assert samples.entrances() == ["whole (service.py:13)", "page (service.py:29)"]
    assert samples.calls_from()[1] == "whole (service.py:13)"


def test_where_walks_end_early_the_innermost_function_is_still_named() -> None:
    """Half of the stacks lost main(), which had the fewest samples then: "the target computes inside main"."""
    builder = Builder().thread("app", cpu_user="9 s")
    for callers, count in ((["order (app)", "serve (app)"], 40), (["order (app)", "serve (app)", "main (app)"], 60)):
        for leaf in ("next (app)", "compare (app)", "copy (app)"):
            builder.stack("cpu", user=[leaf, *callers], count=count)
    names = [each.name for each in CpuSamples(builder.model()).hot_path()]
    assert names == ["order (app)", "serve (app)", "main (app)"]


def test_who_serves_too_slowly_is_told_what_would_be_faster_however_seldom_it_is_asked() -> None:
    """Requests of 20 ms that are all computing had no remedy, because they took a twentieth of the window together."""
    builder = (
        Builder(comm="server")
        .thread("worker", cpu_user="400 ms", rest="wait.events")
        .stack("cpu", user=["parse (app)"], count=100)
    )
    for line in served(20, 20 * MS, {"cpu.user": 400 * MS}):
        builder.line(line)
    model = builder.model()
    whole = made(model, *diagnose(model).findings)
    assert whole.verdict.status == "busy" and "FASTER   make parse (app) cheaper" in plain(whole), plain(whole)


def test_long_names_of_callers_leave_room_for_what_else_is_wrong() -> None:
    """A template of Rust and its caller filled the three lines: "... And 1 more finding"."""
    callers = ["<alloc::string::String as core::clone::Clone>::clone (server)", "snapshot (server)"]
    builder = Builder().thread("app", cpu_user="9 s").stack("cpu", user=["memcpy (libc.so.6)", *callers], count=100)
    assert verdict(builder).sentences[0].endswith(f"(in memcpy (libc.so.6) called by {callers[0]}).")


@pytest.mark.parametrize(("hot", "told"), [(90, True), (30, False)])
def test_one_function_beside_a_fault_is_worth_a_word(hot: int, told: bool) -> None:
    """PostgreSQL went through all its buffers at each TRUNCATE, on a busy host: only the neighbours were named."""
    builder = Builder(window="10 s").thread("postgres", cpu_user="4 s").row("runq.busy", "task:7:cc1", "5 s", count=900)
    builder.stack("cpu", count=hot, user=["DropAllBuffers (postgres)"])
    for number in range(100 - hot):
        builder.stack("cpu", count=1, user=[f"f{number} (postgres)"])
    sentences = verdict(builder).sentences
    assert ("Besides, 44 % is own code in DropAllBuffers (postgres)." in sentences) is told, sentences


def test_what_waits_for_a_cpu_computes_none_the_less() -> None:
    """On a busy host requests that read all of /etc/passwd waited for a CPU for half of their time: no problem."""
    builder = Builder(comm="server").thread("worker", cpu_user="1500 ms", cpu_kernel="1500 ms")
    builder.row("runq.busy", "own:100:server", durations={"100 us": 32_000})
    builder.stack("cpu", user=["parse (app)", *LOOKS], count=100)
    builder.stack("cpu", kernel=["do_sys_open"], user=["open64 (libc.so.6)", *LOOKS], count=100)
    for line in served(20, 310 * MS, {"cpu.user": 1500 * MS, "cpu.kernel": 1500 * MS, "runq.busy": 3200 * MS}):
        builder.line(line)
    found = verdict(builder)
    assert (
        found.status == "busy"
        and "below load (app), called by serve (app), and 52 % is waiting for a CPU" in found.text
    )


def test_what_the_program_asks_of_a_library_is_named_beside_its_function() -> None:
    """SQLite's VACUUM took 60 % below the function that deletes old lines: only that one was named."""
    builder = Builder(comm="server").thread("worker", cpu_user="2 s", cpu_kernel="2 s", runq_waking="20 ms")
    vacuum = ["copy (libsqlite3.so.0)", "sqlite3RunVacuum (libsqlite3.so.0)", "log_out (app)"]
    builder.stack("cpu", kernel=["ext4_write"], user=["pwrite (libc.so.6)", *vacuum], count=50)
    builder.stack("cpu", user=vacuum, count=20).stack("cpu", user=["parse (app)", "log_out (app)"], count=30)
    for line in served(20, 201 * MS, {"cpu.user": 2 * S, "cpu.kernel": 2 * S, "runq.waking": 20 * MS}):
        builder.line(line)
    assert "below sqlite3RunVacuum (libsqlite3.so.0), called by log_out (app)" in verdict(builder).text

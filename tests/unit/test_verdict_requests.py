"""The verdict on a target that serves requests, and what its report shows of them."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis import claims
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange, latency, served
from unit.support.reports import finding, made
from unit.support.shown import plain

S = 1_000_000_000
MS = 1_000_000
ROWS = {"disk.flush": "device:254:0", "net.receive": "peer:10.0.0.7:5432", "lock.futex": "futex:0x10"}


def serving(accounts: dict[str, int], *, rest: int = 0, count: int = 400) -> Model:
    """Return a target whose threads spent, and whose requests took, so many milliseconds; `rest` nobody can tell."""
    builder = Builder(comm="server")
    for account, ms in accounts.items():
        if account in ROWS:
            builder.thread("worker").row(account, ROWS[account], f"{ms} ms", count=count)
        else:
            builder.thread("worker", **{account.replace(".", "_"): f"{ms} ms"})
    each_ns = (sum(accounts.values()) + rest) * MS // count
    for line in served(count, each_ns, {name: ms * MS for name, ms in accounts.items()}):
        builder.line(line)
    return builder.model()


def test_requests_are_what_shares_are_of() -> None:
    """Threads also wait for 7.5 s outside of requests: none of that counts."""
    builder = Builder(comm="server").thread("worker", disk_flush="8 s").thread("other", disk_read="4 s")
    for line in served(400, 15 * MS, {"disk.flush": 9 * S // 2, "cpu.user": 3 * S // 2}):
        builder.line(line)
    model = builder.model()
    assert model.request_time and model.request_time.ns == 6 * S
    report = made(model, finding("DISK-FLUSH-SLOW", {"disk.flush": 8 * S}, "Flushes are slow."))
    assert [found.share for found in report.findings] == [0.75]
    assert report.unclaimed_share == 0.25 and report.unclaimed == {"cpu.user": 3 * S // 2}
    assert report.verdict.kind == Kind.CAUSE.value and "400 requests took p50 15" in report.verdict.text


@pytest.mark.parametrize(
    ("accounts", "rest", "kind"),
    [
        ({"disk.flush": 3000, "lock.futex": 100}, 0, Kind.CAUSE),
        ({"disk.flush": 3000, "lock.futex": 900}, 0, Kind.CAUSES),
        ({"disk.flush": 1000, "lock.futex": 90}, 3000, Kind.CANNOT_TELL),
        ({"disk.flush": 1200, "lock.futex": 1000}, 1000, Kind.CAUSES),
    ],
)
def test_kinds_with_causes(accounts: dict[str, int], rest: int, kind: Kind) -> None:
    model = serving(accounts, rest=rest)
    if rest > 0.1 * sum(accounts.values()):
        assert model.request_time and model.request_time.uncertain_ns == pytest.approx(rest * MS, rel=1e-3)
    report = made(
        model,
        finding("DISK-FLUSH-SLOW", {"disk.flush": accounts["disk.flush"] * MS}, "Flushes are slow."),
        finding("LOCK-CONTENTION", {"lock.futex": accounts["lock.futex"] * MS}, "A lock is full."),
    )
    assert report.verdict.kind == kind.value, report.verdict
    assert ("Their order is within" in report.verdict.text) == (accounts.get("disk.flush") == 1200)


@pytest.mark.parametrize(("profile_ms", "first"), [(4700, "CPU-BOUND"), (2300, "DISK-FLUSH-SLOW")])
def test_what_takes_far_more_than_a_minor_fault_stands_before_it(profile_ms: int, first: str) -> None:
    """A statement that computes for 47 % of the time stood below a fault of 12 %, being less than half."""
    model = serving({"disk.flush": 1200, "cpu.user": profile_ms, "net.connect": 8800 - profile_ms})
    flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 1200 * MS}, "Flushes are slow.")
    busy = finding("CPU-BOUND", {"cpu.user": profile_ms * MS}, "It computes.", severity=Severity.INFO)
    report = made(model, flush, busy)
    assert report.verdict.kind == Kind.CAUSE.value and report.verdict.ids[0] == first, report.verdict


def test_what_takes_most_of_the_time_begins_with_itself() -> None:
    """A headline began "No fault in itself: 321 waits for flushes add up (79 %)", and a lock of 13 % stood behind."""
    model = serving({"disk.flush": 7900, "lock.futex": 1300})
    many = finding("DISK-FLUSH-SLOW", {"disk.flush": 7900 * MS}, "Flushes add up.", severity=Severity.INFO)
    text = made(model, many, finding("LOCK-CONTENTION", {"lock.futex": 1300 * MS}, "A lock is full.")).verdict.text
    assert text.startswith("Flushes add up (86 % of request time). A smaller fault: A lock is full")


@pytest.mark.parametrize(("slow", "says"), [("GET /slow", True), ("", False)])
def test_a_cause_that_concerns_one_name_is_told_with_the_times_of_that_name(slow: str, says: bool) -> None:
    """The median of all was 2 ms, beside a sleep of half a second."""
    builder = Builder().thread("app", wait_timer="10 s", requests=(400, 0)).thread("other", cpu_user="760 ms")
    for line in served(380, 2 * MS, {"cpu.user": 760 * MS}, name="GET /"):
        builder.line(line)
    for line in served(20, 500 * MS, {"wait.timer": 10 * S}, name=slow):
        builder.line(line)
    slept = finding("WAIT-TIMER-IN-REQUEST", {"wait.timer": 10 * S}, "Threads sleep.")
    text = made(builder.model(), slept).verdict.text
    assert ("It concerns 20 of 400 requests: GET /slow on port 8080, p50" in text) is says
    assert ("Its 400 requests took p50 2" in text) is not says


def test_somebody_else() -> None:
    model = serving({"net.receive": 3000, "cpu.user": 200})
    slow = {"net.receive": 3000 * MS}
    report = made(model, finding("NET-PEER-SLOW", slow, "10.0.0.7 answers slowly."))
    assert report.verdict.kind == Kind.ELSEWHERE.value and "not the slow part" in report.verdict.text
    unsure = made(model, finding("NET-PEER-SLOW", slow, "10.0.0.7 answers slowly.", confidence=Confidence.LOW))
    assert unsure.verdict.kind == Kind.CAUSE.value and unsure.verdict.text.startswith("Probably: ")


def test_no_fault_says_how_fast_requests_are_answered() -> None:
    report = made(serving({"cpu.user": 3000}))
    assert report.verdict.kind == Kind.PROFILE.value
    assert "Nothing abnormal was found." in report.verdict.text and "(cpu.user 100 %)" in report.verdict.text


def test_where_no_fault_is_found_a_limit_that_was_missed_is_said_all_the_same() -> None:
    slow = {"over_slo": 400, "over_slo_ns": 3 * S, "over_slo_whole_ns": 3 * S}
    parts = [schema.PartSum("cpu.user", 3 * S)]
    builder = Builder(comm="server", slo="1 us").thread("worker", cpu_user="3 s")
    builder.line(exchange(400, 3 * S, {"cpu.user": 3 * S}, over_slo_accounts=parts, **slow))
    model = builder.line(latency([3 * S // 400] * 400)).model()
    text = made(model, *diagnose(model).findings).verdict.text
    assert "400 of 400 requests on port 8080 took over 1.00 us." in text and "No cause found" not in text, text
    assert "computes in its own code" in text, text
    assert text.count("400 of 400") == 1 and "(0 %)" not in text, text


def test_the_tail_ranks_and_all_are_counted() -> None:
    """Only ten of 400 are over the objective: the percentiles are not theirs, nor is their number that of all."""
    builder = Builder(comm="server").thread("worker", cpu_user="2 s", disk_flush="1 s")
    slow = [schema.PartSum("disk.flush", S)]
    line = exchange(
        400, 3 * S, {"cpu.user": 2 * S, "disk.flush": S}, over_slo=10, over_slo_ns=S, over_slo_whole_ns=S,
        over_slo_accounts=slow,
    )  # fmt: skip
    model = builder.line(line).line(latency([5 * MS] * 390 + [100 * MS] * 10)).model()
    assert model.request_time and model.request_time.excess and model.request_time.count == 10
    text = made(model).verdict.text
    assert "Its 400 requests took p50 5" in text, text
    assert "(disk.flush 100 %)" in text, text


def test_most_requests_without_an_answer_leave_no_acquittal_to_the_others() -> None:
    builder = Builder(comm="server").thread("worker", cpu_user="3 s")
    for line in served(40, 75 * MS, {"cpu.user": 3 * S}, unanswered=60, unanswered_longest_ns=S):
        builder.line(line)
    found = made(builder.model()).verdict
    assert found.kind == Kind.CANNOT_TELL.value and "60 of 100 requests had no answer" in found.text, found


def test_no_fault_in_what_could_not_be_followed_acquits_nobody() -> None:
    report = made(serving({"cpu.user": 300}, rest=3000))
    assert report.verdict.kind == Kind.CANNOT_TELL.value and "has no known cause" in report.verdict.text


def test_requests_that_take_less_than_a_millisecond_need_no_cause() -> None:
    report = made(serving({"cpu.user": 300}, rest=3000, count=8000))
    assert report.verdict.kind == Kind.PROFILE.value, report.verdict


@pytest.mark.parametrize("silent", [True, False])
def test_calls_without_an_answer_are_named_where_requests_could_not_be_followed(silent: bool) -> None:
    fields = {"unanswered": 24 if silent else 1, "busy_ns": 8 * S}
    builder = (
        Builder(comm="server").thread("worker", cpu_user="300 ms").socket(ROWS["net.receive"], retransmits_seen=90)
    )
    for line in served(400, 8 * MS, {"cpu.user": 300 * MS}):
        builder.line(line)
    call = exchange(30, 60 * MS, object=ROWS["net.receive"], direction="connected", **fields)
    text = made(builder.line(call).line(latency([2 * MS] * 30, object=call.object, direction="connected")).model())
    assert ("24 of 54 got no answer, and 90 segments to it were sent again" in text.verdict.text) is silent


def test_what_is_critical_stands_first() -> None:
    model = serving({"disk.flush": 3000})
    killed = finding("OOM-KILL", {}, "A process was killed.", severity=Severity.CRITICAL)
    report = made(model, killed, finding("DISK-FLUSH-SLOW", {"disk.flush": 3000 * MS}, "Flushes are slow."))
    assert report.verdict.text.startswith("A process was killed. Flushes are slow")
    assert report.verdict.ids == ["OOM-KILL", "DISK-FLUSH-SLOW"]


@given(
    st.dictionaries(st.sampled_from(["disk.flush", "lock.futex", "net.receive", "cpu.user"]), st.integers(1, 4000)),
    st.integers(0, 4000),
    st.lists(st.tuples(st.sampled_from(sorted(ROWS)), st.integers(0, 9000)), max_size=4),
)
def test_shares_and_the_unclaimed_are_all_of_the_requests_time(
    accounts: dict[str, int], rest: int, wanted: list[tuple[str, int]]
) -> None:
    model = serving({**accounts, "cpu.kernel": 400}, rest=rest)
    assert model.request_time
    findings = [finding(f"F-{number}", {account: ms * MS}) for number, (account, ms) in enumerate(wanted)]
    settled = claims.settle(model, findings, {})
    claimed_ns = sum(found.claimed_ns for found in settled.findings)
    assert claimed_ns + settled.unclaimed_ns == model.request_time.ns and settled.unclaimed_ns >= 0
    shares = sum(found.share for found in settled.findings) + settled.unclaimed_ns / model.request_time.ns
    assert shares == pytest.approx(1)


@pytest.mark.parametrize(
    ("answered", "count", "pool", "warns"),
    [
        ("4 ms", 400, 7, False),
        ("4 ms", 100, 7, False),
        ("4 ms", 30, 7, False),
        ("4 ms", 29, 7, True),
        ("40 ms", 400, 7, True),
        ("4 ms", 400, 0, True),
    ],
)
def test_a_large_share_of_next_to_no_time_is_no_warning(answered: str, count: int, pool: int, warns: bool) -> None:
    """0.2 s of waiting in 80 s of threads that are idle else, and nobody waits for an answer."""
    builder = Builder(comm="server").thread("worker", runq_busy="200 ms", cpu_user="100 ms", requests=(count, 0))
    for _ in range(pool):
        builder.thread("pool", rest="net.accept")
    model = builder.exchange("port:80", "accepted", {answered: count}, whole=0, whole_ns=0).model()
    found = made(model, finding("CPU-CONTENTION", {"runq.busy": 200 * MS}, "Threads wait for CPUs."))
    assert (found.findings[0].severity == "warning") is (warns and model.request_time is None)
    assert (found.verdict.status != "ok") is warns


# What is shown.

HOSTILE = "GET /\x1b]0;owned\x07\x1b[2J\n\r\t{{}}[bold]\N{RIGHT-TO-LEFT OVERRIDE}"


def shown(builder: Builder, **options: bool) -> list[str]:
    report = made(builder.thread("worker", cpu_user="2 s").model())
    return plain(report, **options).splitlines()


def test_a_crowd_of_names_still_leaves_a_page() -> None:
    builder = Builder(comm="server")
    for number in range(200):
        for line in served(100, 10 * MS, {"cpu.user": 10 * MS}, name=f"GET /{'x' * 30}{number}"):
            builder.line(line)
    lines = shown(builder)
    assert len(lines) <= 40 and max(map(len, lines)) <= 80, lines
    assert "20,000 requests on :80" in lines[0]
    assert sum("GET /xxx" in line for line in shown(builder, full=True)) >= 200


def test_hostile_names_are_escaped() -> None:
    builder = Builder(comm="server")
    for line in served(400, 10 * MS, {"cpu.user": 4 * S}, name=HOSTILE):
        builder.line(line)
    text = "\n".join(shown(builder, full=True))
    assert "owned" in text and not set(text) & set(HOSTILE) - set("GET /ownedJ;0[]2{}bold\n"), text


def test_what_is_open_unanswered_or_declined_is_told() -> None:
    builder = Builder(comm="server")
    lines = [
        exchange(0, 0, name="GET /a", open=7, oldest_ns=5 * S, unanswered=3),
        exchange(0, 0, name="GET /b", declined=2),
        exchange(50, S, name="GET /c", early=9),
        latency([20 * MS] * 50, name="GET /c"),
        *served(30, 100 * MS, object="peer:10.0.0.7:5432", direction="connected", busy_ns=5 * S, connects_failed=2),
        *served(30, 100 * MS, object="peer:10.0.0.7:53", direction="lookup", retries=4, open=2, oldest_ns=6 * S),
        exchange(0, 0, object="peer:10.0.0.8:5432", direction="connected", connecting=1, retries=1),
        latency([4 * S], "connect", object="peer:10.0.0.8:5432", direction="connected"),
    ]
    for line in lines:
        builder.line(line)
    text = " ".join(" ".join(shown(builder, full=True)).split())
    for told in (
        "7 still waiting, for up to 5.00 s", "3 without an answer", "2 connections carry several at once",
        "9 came before the previous answer", "calls to 10.0.0.7:5432", "outstanding 50 % of the window",
        "2 of them failed",
        "name look-ups of 10.0.0.7:53", "4 asked again", "2 not answered, the first asked 6.00 s ago",
        "1 connect, longest 4.00 s, 1 of them not made yet, 1 SYN sent again",
    ):  # fmt: skip
        assert told in text, (told, text)
    assert "p99" not in text.partition("REQUESTS")[2].partition("FINDINGS")[0], "there are fewer than 300"


@pytest.mark.parametrize("forged", [{"count": -1}, {"accounts": [["cpu.user"]]}, {"count": 1 << 70}])
def test_forged_lines_are_problems_of_the_recording(forged: dict[str, object]) -> None:
    lines = [msgspec.json.encode(line) for line in Builder().thread("worker", cpu_user="2 s").lines()]
    fake = {"type": "exchange", **msgspec.to_builtins(exchange(5, S)), **forged}
    lines.insert(-1, msgspec.json.encode(fake))
    read = reader.read(io.BytesIO(b"\n".join(lines) + b"\n"))
    assert read.problems and not read.exchanges


def test_a_bucket_beyond_the_last_is_refused() -> None:
    good = msgspec.to_builtins(latency([5 * MS]))
    msgspec.convert(good, schema.Latency)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**good, "buckets": [[448, 1]]}, schema.Latency)


def test_without_room_for_a_distribution_requests_are_counted_all_the_same() -> None:
    builder = Builder(comm="server").thread("worker", disk_flush="8 s")
    builder.line(exchange(400, 6 * S, {"disk.flush": 5 * S}, name="GET /a"))
    assert any("400, 40/s, mean 15.0 ms (percentiles unknown)" in line for line in shown(builder, full=True))


def test_what_is_unsure_stands_behind_what_is_known() -> None:
    """A wait for a timer, of low confidence, stood before the peer that answers slowly."""
    model = serving({"lock.futex": 1000, "disk.flush": 800, "net.receive": 600})
    lock = finding("LOCK-CONTENTION", {"lock.futex": S}, "A lock is full.")
    unsure = finding("DISK-FLUSH-SLOW", {"disk.flush": S}, "Flushes add up.", confidence=Confidence.LOW)
    peer = finding("NET-PEER-SLOW", {"net.receive": S}, "db answers slowly.")
    assert made(model, lock, unsure, peer).verdict.ids == ["LOCK-CONTENTION", "NET-PEER-SLOW"]
    assert made(model, lock, unsure).verdict.ids == ["LOCK-CONTENTION", "DISK-FLUSH-SLOW"]


def test_what_is_known_of_much_of_the_time_stands_before_the_account_of_most() -> None:
    """A login shell started eight processes a request, and "waiting at a pipe" was told."""
    model = serving({"ipc.pipe": 1000, "wait.child": 800})
    child = finding("PROC-CHILD-SLOW", {"wait.child": S}, "Requests start 8 processes each.", severity=Severity.INFO)
    text = made(model, child).verdict.text
    assert text.startswith("Requests start 8 processes each (44 % of request time). Its 400")

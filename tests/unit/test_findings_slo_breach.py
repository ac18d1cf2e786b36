"""SLO-BREACH: operations over --slo, and what their time consisted of."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.recording import schema
from perfdiag.report import header

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding, findings, outcomes, silence

ID, S = "SLO-BREACH", 1_000_000_000


def flushing(slo: str | None = "250 ms", **fields: object) -> Builder:
    builder = Builder(slo=slo).thread(cpu_user="1 s").row("disk.flush", "device:254:0", "5 s", count=1000)
    return builder.operation(
        "fdatasync",
        **(
            {  # type: ignore[arg-type]
                "durations": {"3 ms": 990, "400 ms": 10},
                "over_slo": 10,
                "disk_flush": "5 s",
                "over_slo_accounts": {"disk.flush": "3.8 s", "cpu.user": "200 ms"},
            }
            | fields
        ),
    )


def test_slow_operations_are_named_with_their_own_accounts() -> None:
    found = finding(flushing().model(), ID)
    assert found.severity is Severity.WARNING and not found.claims
    assert "10 of 1,000 fdatasync took longer than 250 ms" in found.claim and "disk.flush" in found.claim
    assert "flushing to disk 95 %, own code on a CPU 5 %" in found.evidence[1].text
    assert "(1 %)" in found.evidence[0].text


def test_a_share_of_few_operations_is_not_given() -> None:
    found = finding(flushing(durations={"1.75 s": 4}, over_slo=2).model(), ID)
    assert "%" not in found.evidence[0].text


def test_operations_within_the_limit_say_what_could_not_be_seen() -> None:
    model = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={}).model()
    assert "too few to see what happens to fewer than 1 in 1,000" in check(model, ID).text


def test_operations_that_were_not_counted_may_have_broken_it() -> None:
    within = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={}).lost(operations_full=7)
    assert "7 were not counted" in silence(within.model(), ID).reason
    found = finding(flushing().lost(operations_full=7).model(), ID)
    assert found.confidence is Confidence.MEDIUM and "7 of other names" in found.limits[0]


def test_ends_of_calls_that_nobody_saw_are_told_and_lower_nothing() -> None:
    """The kernel counts those of all threads: mostly of others, and no time of the books goes with them."""
    within = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={})
    assert "ends of calls" not in check(within.model(), ID).text
    assert (
        "12,820 ends of calls on this host, of any process, were not seen"
        in check(within.lost(calls_skipped=12_820).model(), ID).text
    )
    whole = finding(flushing().model(), ID)
    assert finding(flushing().lost(calls_skipped=12_820).model(), ID).confidence is whole.confidence


def serving(*names: str) -> Builder:
    """Return a server of which ten of 400 requests of each name are over the limit, for the disk; the rest computes."""
    builder = Builder(slo="50 ms").thread("worker", cpu_user="2 s", disk_flush="1 s")
    for name in names:
        fields = {"over_slo_ns": S, "over_slo_whole_ns": S, "over_slo_accounts": [schema.PartSum("disk.flush", S)]}
        builder.line(exchange(400, 3 * S, {"cpu.user": 2 * S, "disk.flush": S}, name=name, over_slo=10, **fields))
        builder.line(latency([5_000_000] * 390 + [100_000_000] * 10, name=name))
    return builder


def test_slow_requests_are_named_with_what_they_took_beyond_the_others() -> None:
    found = finding(serving("GET /a").model(), ID)
    assert "10 of 400 requests GET /a on port 8080 took longer than 50.0 ms; the largest part" in found.claim
    assert found.claim.endswith("is flushing to disk (disk.flush).") and "3 %" in found.evidence[0].text
    assert "10 of 400 requests on port 8080" in finding(serving("").model(), ID).claim


def test_nobody_is_sent_to_findings_that_are_not_there() -> None:
    """Ten of 400 requests take 100 ms longer, for what departs from no norm."""
    fields = {"over_slo_ns": S, "over_slo_whole_ns": S, "over_slo_accounts": [schema.PartSum("disk.flush", S)]}
    builder = Builder(slo="50 ms").thread("worker", cpu_user="20 ms", disk_flush="10 ms")
    builder.line(exchange(400, 3 * S, {"cpu.user": 2 * S, "disk.flush": S}, over_slo=10, **fields))
    model = builder.line(latency([5_000_000] * 390 + [100_000_000] * 10)).model()
    diagnosis = diagnose(model)
    told = [each.remedies[0].text for each in diagnosis.findings if each.id == ID]
    others = [each.id for each in diagnosis.findings if each.id != ID]
    assert others == [] and told and "first other finding" not in told[0]
    assert "no other finding: perfdiag latency --stacks shows the code" in told[0]
    with_others = diagnose(serving("GET /a").row("disk.flush", "device:7:0", durations={"10 ms": 100}).model()).findings
    assert "first other finding" in next(each.remedies[0].text for each in with_others if each.id == ID)


def test_what_several_names_took_together_is_none_of_one() -> None:
    for found in findings(serving("GET /a", "GET /b").model(), ID):
        assert "disk.flush" not in found.claim, found.claim
        assert (
            "slow requests of all names took beyond the median of their name: flushing to disk"
            in found.evidence[1].text
        )


def test_each_name_has_its_own_limit_and_a_plain_one_is_for_the_others() -> None:
    """The recorder has counted them so; here it is what they are called over."""

    def claims(slo: str | None, names: dict[str, str]) -> list[str]:
        builder = Builder(slo=slo, slo_names=names).thread("worker", cpu_user="2 s", disk_flush="1 s")
        for name in ("GET /a", "GET /b"):
            limited = slo is not None or name in names
            fields = {"over_slo": 5, "over_slo_ns": S, "over_slo_whole_ns": S} if limited else {}
            builder.line(exchange(400, 3 * S, {"cpu.user": 3 * S}, name=name, **fields))
            builder.line(latency([5_000_000] * 390 + [100_000_000] * 10, name=name))
        return [found.claim.partition(";")[0].rstrip(".") for found in findings(builder.model(), ID)]

    a, b = (f"5 of 400 requests GET /{name} on port 8080 took longer than " for name in "ab")
    assert claims("50 ms", {"GET /b": "80 ms"}) == [f"{a}50.0 ms", f"{b}80.0 ms"]
    assert claims(None, {"GET /b": "80 ms"}) == [f"{b}80.0 ms"]


def unmatched(builder: Builder) -> str:
    return " ".join(header.notes(builder.model())).partition("NOTHING MATCHED --slo ")[2]


def test_a_name_that_nothing_has_is_said_with_the_names_there_are() -> None:
    builder = Builder(slo_names={"GET /upload": "1 s", "GET /a": "1 s"}).thread("worker", cpu_user="2 s")
    for count, name in enumerate(["GET /e", "GET /a", "GET /b", "GET /c", "GET /d"], 20):
        builder.line(exchange(count, S, {"cpu.user": S}, name=name)).line(latency([5_000_000] * count, name=name))
    there = "seen: GET /d, GET /c, GET /b, GET /a and 1 more"
    assert unmatched(builder) == f"GET /upload: no request of that name came; {there}"
    assert unmatched(builder.lost(exchanges_full=2)) == "GET /upload: the table of requests was full"


def test_a_name_where_requests_show_none() -> None:
    builder = Builder(slo_names={"GET /a": "1 s"}).thread("worker", cpu_user="2 s")
    assert unmatched(builder).endswith("no request came")
    assert unmatched(builder.line(exchange(20, S, {"cpu.user": S}))).endswith("requests have no names")
    assert unmatched(builder.without("requests")).endswith("requests were not measured")


def test_an_objective_for_one_system_call() -> None:
    def told(builder: Builder) -> Builder:
        read = {"durations": {"3 ms": 99, "400 ms": 1}, "over_slo": 1, "over_slo_accounts": {"disk.read": "400 ms"}}
        return builder.thread("a", disk_read="2 s").operation("syscall:read", disk_read="697 ms", **read)

    own = told(Builder(slo_names={"syscall:read": "50 ms"}))
    assert "1 of 100 syscall:read took longer than 50.0 ms" in finding(own.model(), ID).claim
    other = told(Builder(slo_names={"syscall:fsync": "50 ms"}))
    assert unmatched(other).endswith("no system call of that name waited for anything but work; seen: syscall:read")
    requests = Builder(slo_names={"GET /": "50 ms"}).thread("a", disk_read="2 s").without("operations", "named")
    assert not outcomes(requests.model(), ID), "nobody asked for operations"


def test_a_call_of_a_server_is_a_fault_only_if_it_was_named() -> None:
    """A thread that serves nobody may wait for a service, while all requests are answered in time."""

    def severities(**limits: Any) -> list[Severity]:
        builder = Builder(**limits).thread("worker", cpu_user="2 s", net_receive="2 s")
        slow = {"durations": {"200 ms": 10}, "over_slo": 10, "over_slo_accounts": {"net.receive": "2 s"}}
        builder.operation("syscall:read", net_receive="2 s", **slow)
        builder.line(exchange(400, S, {"cpu.user": S})).line(latency([2_500_000] * 400))
        return [found.severity for found in findings(builder.model(), ID)]

    assert severities(slo="50 ms") == [Severity.INFO]
    assert severities(slo="50 ms", slo_names={"syscall:read": "100 ms"}) == [Severity.WARNING]


def test_operations_without_a_limit_are_not_said_to_keep_one() -> None:
    builder = Builder(slo_names={"syscall:read": "1 s"}).thread("a", disk_read="2 s")
    builder.operation("syscall:read", durations={"3 ms": 30}, over_slo=0, disk_read="90 ms")
    builder.operation("syscall:fsync", durations={"5 s": 3}, over_slo=0, disk_flush="15 s")
    assert "0 of 30 operations over their limits" in check(builder.model(), ID).text


def test_requests_that_are_not_answered_at_all_break_the_limit() -> None:
    def hanging(oldest_ns: int) -> list[str]:
        builder = Builder(slo="50 ms").thread("worker", wait_timer="5 s")
        builder.line(exchange(0, 0, open=3, oldest_ns=oldest_ns))
        return [found.claim for found in findings(builder.model(), ID)]

    assert hanging(4 * S) == ["3 requests on port 8080 not answered yet when the window ended, the oldest after 4.00 s:"
                              " the limit is 50.0 ms."]  # fmt: skip
    assert not hanging(49_000_000)


@pytest.mark.parametrize(("name", "severity"), [("", Severity.INFO), ("GET /", Severity.WARNING)])
def test_where_messages_wanted_no_answer_one_without_breaks_no_limit(name: str, severity: Severity) -> None:
    builder = Builder(slo="50 ms").thread("worker", wait_timer="5 s")
    builder.line(exchange(0, 0, open=3, oldest_ns=4 * S, untimed=20, name=name))
    assert finding(builder.model(), ID).severity is severity


@pytest.mark.parametrize("longest_ns", [2 * S, 49_000_000, None])
def test_requests_whose_clients_left_without_an_answer_break_the_limit(longest_ns: int | None) -> None:
    """A server that answered nobody was not the slow part."""
    builder = Builder(slo="50 ms").thread("worker", wait_events="5 s")
    builder.line(exchange(0, 0, unanswered=50, unanswered_longest_ns=longest_ns, open=0))
    assert [found.claim for found in findings(builder.model(), ID)] == (
        ["50 requests on port 8080 not answered when their connections ended, the oldest after 2.00 s: the limit is"
         " 50.0 ms."] if longest_ns == 2 * S else []
    )  # fmt: skip


def hanging(*waits: tuple[str, str], open: int = 1, **fields: Any) -> Builder:
    """Requests in progress for 4 s, and threads that read some, in such waits when the window ended."""
    builder = Builder(slo="1 s").thread("accept", rest="net.accept")
    for account, since in waits:
        builder.thread("worker", cpu_user="1 ms", rest=account, open=(account, "", since), requests=(1, 0))
    return builder.line(exchange(0, 0, name="GET /slow", open=open, oldest_ns=4 * S, **fields))


def test_a_request_in_progress_has_no_answer_yet_and_its_thread_is_named() -> None:
    found = finding(hanging(("wait.timer", "3999 ms")).model(), ID)
    assert found.headline == "1 request GET /slow on port 8080 not answered yet after 4.00 s"
    assert found.claim == (
        "1 request GET /slow on port 8080 not answered yet when the window ended, after 4.00 s: the limit is 1.00 s."
        " Thread worker (101), which reads requests, was then sleeping (wait.timer), for 4.00 s."
    )
    several = finding(hanging(("lock.file", "2 s"), ("lock.file", "3 s"), open=5).model(), ID)
    assert several.headline == "5 requests GET /slow on port 8080 not answered yet, the oldest after 4.00 s"
    assert (
        "2 threads that read requests were then waiting for a file lock (lock.file), the longest for" in several.claim
    )
    assert all("STILL WAITING" not in remedy.text for remedy in (*found.remedies, *several.remedies))
    for other in (
        hanging(("wait.timer", "9 s")),  # since before it came
        hanging(("wait.timer", "3 s"), ("lock.file", "3 s"), open=2),
        hanging(("wait.timer", "3 s"), ("wait.timer", "3 s")),
        hanging(("wait.events", "3 s")),
    ):
        assert finding(other.model(), ID).claim.endswith("the limit is 1.00 s.")


def test_requests_that_have_just_come_are_not_among_those_without_an_answer() -> None:
    def told(oldest_ns: int) -> str:
        builder = Builder(slo="1 s").thread("worker", wait_events="5 s")
        builder.line(exchange(0, 0, unanswered=2, unanswered_longest_ns=3 * S, open=7, oldest_ns=oldest_ns))
        return finding(builder.model(), ID).headline

    assert told(S // 2) == "2 requests on port 8080 got no answer"
    assert told(2 * S) == "9 requests on port 8080 got no answer, or have none yet"


def test_waiting_for_work_breaks_no_limit() -> None:
    model = (
        Builder(slo="250 ms")
        .thread(cpu_user="1 s")
        .operation(
            "epoll_wait", durations={"5 s": 1}, over_slo=1, wait_events="5 s", over_slo_accounts={"wait.events": "5 s"}
        )
        .model()
    )
    assert not findings(model, ID)


def test_without_a_limit_there_is_nothing_to_say() -> None:
    assert outcomes(flushing(slo=None).model(), ID) == []


def test_operations_not_measured_are_not_fine() -> None:
    model = Builder(slo="250 ms").thread(cpu_user="1 s").without("operations").model()
    assert "not measured" in silence(model, ID).reason


def test_an_unknown_ledger_of_the_slow_ones_lowers_the_confidence() -> None:
    assert finding(flushing(over_slo_accounts={}).model(), ID).confidence is Confidence.MEDIUM

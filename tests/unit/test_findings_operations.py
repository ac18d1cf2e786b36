"""SLO-BREACH: operations over --slo, and what their time consisted of."""

from __future__ import annotations

from perfdiag import schema
from perfdiag.findings.base import Confidence, Severity

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
    assert "disk.flush 95 %, cpu.user 5 %" in found.evidence[1].text
    assert "(1 %)" in found.evidence[0].text


def test_a_share_of_few_operations_is_not_given() -> None:
    found = finding(flushing(durations={"400 ms": 4}, over_slo=2).model(), ID)
    assert "%" not in found.evidence[0].text


def test_operations_within_the_limit_say_what_could_not_be_seen() -> None:
    model = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={}).model()
    assert "rarer than 1 in 1,000 could not be seen" in check(model, ID).text


def test_operations_that_were_not_counted_may_have_broken_it() -> None:
    within = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={}).lost(operations_full=7)
    assert "7 operations found their table full" in silence(within.model(), ID).reason
    found = finding(flushing().lost(operations_full=7).model(), ID)
    assert found.confidence is Confidence.MEDIUM and "not all are told" in found.limits[0]


def test_ends_of_calls_that_nobody_saw_are_told_and_lower_nothing() -> None:
    """The kernel counts those of all threads: mostly of others, and no time of the books goes with them."""
    within = flushing(durations={"3 ms": 3000}, over_slo=0, over_slo_accounts={})
    assert "not seen, of" not in check(within.model(), ID).text
    assert (
        "12,820 ends of calls on this host were not seen" in check(within.lost(calls_skipped=12_820).model(), ID).text
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
    assert found.claim.endswith("is disk.flush.") and "(3 %)" in found.evidence[0].text
    assert "10 of 400 requests on port 8080" in finding(serving("").model(), ID).claim


def test_what_several_names_took_together_is_none_of_one() -> None:
    for found in findings(serving("GET /a", "GET /b").model(), ID):
        assert "disk.flush" not in found.claim, found.claim
        assert "slow requests of all names took beyond the others: disk.flush" in found.evidence[1].text


def test_requests_that_are_not_answered_at_all_break_the_limit() -> None:
    def hanging(oldest_ns: int) -> list[str]:
        builder = Builder(slo="50 ms").thread("worker", wait_timer="5 s")
        builder.line(exchange(0, 0, open=3, oldest_ns=oldest_ns))
        return [found.claim for found in findings(builder.model(), ID)]

    assert hanging(4 * S) == ["3 requests on port 8080 not answered when the window ended, the oldest after 4.00 s:"
                              " the limit is 50.0 ms."]  # fmt: skip
    assert not hanging(49_000_000)


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

"""Who gets which nanosecond: nothing is granted twice, nothing invented, and the order of the rules never shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfdiag.diagnosis.claims import Settlement, settle
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.precedence import UNDECLARED, levels
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Rule, Severity, Silence
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.exchanges import Exchange, Latencies
from perfdiag.model.share_denominator import counted, whole_ns
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.recording.distribution import Distribution

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.recorded import recorded

EMPTY = Builder().thread().model()
ACCOUNTS = ("cpu.user", "cpu.kernel", "disk.flush", "lock.futex")
KEYS = ("device:254:0", "device:254:16", "futex:0x1")


MULTIPLIERS = ("CLOCK", "MEMORY")


def rule_named(id: str, *beats: str) -> Rule:
    return Rule(id, id, ACCOUNTS, "", "", "", "", "", lambda model: [], beats=beats, multiplier=id in MULTIPLIERS)


def wanting(
    id: str, severity: Severity = Severity.WARNING, confidence: Confidence = Confidence.HIGH, **claims: int
) -> Finding:
    return Finding(
        id,
        severity,
        confidence,
        f"{id} is so",
        {k.replace("_", "."): v for k, v in claims.items()},
        [],
        [],
        headline=id,
        mechanism=Mechanism.SLOW,
    )


def target(accounts: Mapping[str, int], rows: Mapping[tuple[str, str], int] | None = None) -> Model:
    """Return a model with nothing but sums."""
    return replace(
        EMPTY,
        busy_ns=sum(ns for name, ns in accounts.items() if counted(name)),
        wall_ns=sum(accounts.values()),
        accounts={name: AccountTotal(name, ns, 1, ns) for name, ns in accounts.items()},
        rows=[Row(account, key, key, 1, Distribution(1, ns, ns)) for (account, key), ns in (rows or {}).items()],
    )


def granted(settlement: Settlement, id: str) -> int:
    return sum(finding.claimed_ns for finding in settlement.findings if finding.id == id)


# A few cases, then all of them.


def test_the_more_specific_finding_is_served_first_and_the_coarser_keeps_the_rest() -> None:
    rules = {"FINE": rule_named("FINE", "COARSE"), "COARSE": rule_named("COARSE")}
    settled = settle(
        target({"disk.flush": 100}), [wanting("COARSE", disk_flush=100), wanting("FINE", disk_flush=70)], rules
    )
    assert (granted(settled, "FINE"), granted(settled, "COARSE"), settled.unclaimed_ns) == (70, 30, 0)
    assert [finding.share for finding in settled.findings] == [0.7, 0.3]


def test_refining_holds_through_a_rule_that_found_nothing() -> None:
    rules = {"A": rule_named("A", "B"), "B": rule_named("B", "C"), "C": rule_named("C")}
    settled = settle(target({"cpu.user": 100}), [wanting("C", cpu_user=100), wanting("A", cpu_user=60)], rules)
    assert (granted(settled, "A"), granted(settled, "C")) == (60, 40)


def test_a_fact_takes_nothing_from_a_fault_and_stands_below_it() -> None:
    rules = {"FACT": rule_named("FACT", "FAULT"), "FAULT": rule_named("FAULT")}
    settled = settle(
        target({"cpu.user": 100}), [wanting("FACT", Severity.INFO, cpu_user=100), wanting("FAULT", cpu_user=20)], rules
    )
    assert [(finding.id, finding.claimed_ns) for finding in settled.findings] == [("FAULT", 20), ("FACT", 80)]


def test_multipliers_take_their_part_of_what_is_left() -> None:
    rules = {id: rule_named(id) for id in MULTIPLIERS}
    both = sorted(MULTIPLIERS)
    settled = settle(target({"cpu.user": 1000}), [wanting(id, cpu_user=500) for id in both], rules)
    assert sorted(granted(settled, id) for id in both) == [250, 500]
    assert settled.unclaimed_ns == 250


def test_who_is_left_with_crumbs_is_set_aside_and_its_crumbs_are_nobodys() -> None:
    rules = {"FINE": rule_named("FINE", "COARSE"), "COARSE": rule_named("COARSE")}
    settled = settle(
        target({"disk.flush": 100}), [wanting("COARSE", disk_flush=100), wanting("FINE", disk_flush=95)], rules
    )
    assert [finding.id for finding in settled.findings] == ["FINE"]
    assert [(finding.id, finding.claimed_ns) for finding in settled.superseded] == [("COARSE", 0)]
    assert settled.unclaimed_ns == 5


def test_idle_and_parked_time_is_no_share_of_anything() -> None:
    settled = settle(
        target({"cpu.user": 10, "wait.child": 90, "wait.parked": 50}),
        [wanting("A", wait_child=90, wait_parked=50, cpu_user=4)],
        {"A": rule_named("A")},
    )
    found = settled.findings[0]
    assert (found.claimed_ns, found.idle_ns, settled.unclaimed_ns) == (4, 90, 6)


def test_a_finding_that_claims_no_time_stays() -> None:
    settled = settle(target({"cpu.user": 10}), [wanting("A")], {"A": rule_named("A")})
    assert [finding.share for finding in settled.findings] == [0.0]


def test_idle_time_is_granted_once_and_ranks_faults_alone() -> None:
    """A process that is stopped for long is a larger fault than slow reads; idle time is no cause of anything."""
    profile = replace(wanting("IDLE", wait_timer=100), severity=Severity.INFO)
    busy = replace(wanting("BUSY", cpu_user=5), severity=Severity.INFO)
    model = target({"cpu.user": 10, "disk.read": 50, "wait.timer": 100})
    found = [busy, profile, wanting("READ", disk_read=50), wanting("STOPPED", wait_timer=80)]
    settled = settle(model, found, {}).findings
    assert [(each.id, each.idle_ns) for each in settled] == [("STOPPED", 80), ("READ", 0), ("BUSY", 0), ("IDLE", 20)]
    crowded = settle(model, [profile, wanting("STOPPED", wait_timer=100)], {})
    assert [each.id for each in crowded.findings] == ["STOPPED"] and crowded.superseded[0].id == "IDLE"


def test_a_target_that_did_nothing_has_no_shares() -> None:
    settled = settle(target({"wait.timer": 100}), [wanting("A", wait_timer=100)], {"A": rule_named("A")})
    assert (settled.findings[0].share, settled.unclaimed_ns) == (0.0, 0)


@pytest.mark.parametrize(
    ("each_ns", "lock_ns", "severity"),
    [
        (300_000_000, 16_000_000, Severity.INFO),  # all of it is no hundredth of what requests take
        (4_000_000, 16_000_000, Severity.WARNING),  # it may be a ninth of what requests take
        (300_000_000, 200_000_000, Severity.WARNING),  # more than a hundredth of the threads' time
    ],
)
def test_what_long_requests_cannot_feel(each_ns: int, lock_ns: int, severity: Severity) -> None:
    """It is not known what the requests waited for, but how long they took."""
    exchanges = [Exchange(exchange(36, 36 * each_ns), "port 80", Latencies(36, 36 * each_ns))]
    sums = target({"lock.futex": lock_ns, "cpu.user": 20_000_000, "wait.events": 15_000_000_000})
    found = settle(replace(sums, exchanges=exchanges), [wanting("LOCK", lock_futex=lock_ns)], {}).findings
    assert [each.severity for each in found] == [severity]


# Properties


def model_strategy() -> st.SearchStrategy[Model]:
    ns = st.integers(0, 10**12)
    rows = st.dictionaries(st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from(KEYS)), ns, max_size=6)
    accounts = st.dictionaries(st.sampled_from((*ACCOUNTS, "wait.events", "wait.parked")), ns)
    return st.builds(target, accounts, rows)


def findings_strategy() -> st.SearchStrategy[list[Finding]]:
    claim = st.one_of(
        st.sampled_from((*ACCOUNTS, "wait.events", "no.account")),
        st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from(KEYS)),
    )
    finding: st.SearchStrategy[Any] = st.builds(
        Finding,
        id=st.sampled_from(("A", "B", "C", "D", *MULTIPLIERS)),
        severity=st.sampled_from(Severity),
        confidence=st.sampled_from(Confidence),
        claim=st.sampled_from(("this", "that")),
        claims=st.dictionaries(claim, st.integers(-5, 2 * 10**12), max_size=4),
        evidence=st.just(()),
        remedies=st.just(()),
    )
    return st.lists(finding, max_size=8)


def rules_strategy() -> st.SearchStrategy[dict[str, Rule]]:
    """Any refinement, circles too: settling must end."""
    ids = ("A", "B", "C", "D", *sorted(MULTIPLIERS))
    edges = st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=6)
    return edges.map(lambda pairs: {id: rule_named(id, *(b for a, b in pairs if a == id)) for id in ids})


@given(model_strategy(), findings_strategy(), rules_strategy())
def test_every_nanosecond_is_granted_once(model: Model, findings: list[Finding], rules: dict[str, Rule]) -> None:
    settled = settle(model, findings, rules)
    everything = [*settled.findings, *settled.superseded]
    assert sum(finding.claimed_ns for finding in everything) + settled.unclaimed_ns == model.busy_ns
    assert settled.unclaimed_ns >= 0
    by_account: defaultdict[str, int] = defaultdict(int)
    by_row: defaultdict[tuple[str, str], int] = defaultdict(int)
    for finding in everything:
        assert finding.claimed_ns == sum(finding.claims.values())
        for claim, ns in finding.claims.items():
            assert ns > 0
            by_account[claim if isinstance(claim, str) else claim[0]] += ns
            if not isinstance(claim, str):
                by_row[claim] += ns
    for account, ns in by_account.items():
        assert counted(account) and ns <= model.ns(account)
    for row, ns in by_row.items():
        assert ns <= sum(r.distribution.sum_ns for r in model.rows if (r.account, r.key) == row)


@given(model_strategy(), findings_strategy(), rules_strategy())
def test_nobody_is_granted_more_than_it_wanted(model: Model, findings: list[Finding], rules: dict[str, Rule]) -> None:
    wanted = max((sum(max(0, ns) for ns in f.claims.values()) for f in findings), default=0)
    for finding in settle(model, findings, rules).findings:
        assert finding.claimed_ns <= wanted


@given(model_strategy(), findings_strategy(), rules_strategy(), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_order_in_which_rules_ran_never_shows(
    model: Model, findings: list[Finding], rules: dict[str, Rule], random: Any
) -> None:
    def seen(found: Iterable[Finding]) -> list[tuple[str, str, int, str]]:
        return [(f.id, f.claim, f.claimed_ns, repr(sorted(map(str, f.claims.items())))) for f in found]

    shuffled = list(findings)
    random.shuffle(shuffled)
    one, other = settle(model, findings, rules), settle(model, shuffled, rules)
    assert seen(one.findings) == seen(other.findings)
    assert one.unclaimed_ns == other.unclaimed_ns


@given(model_strategy(), findings_strategy(), rules_strategy())
def test_ranking(model: Model, findings: list[Finding], rules: dict[str, Rule]) -> None:
    ranked = settle(model, findings, rules).findings
    order = [
        (each.severity is Severity.INFO, -each.claimed_ns - (each.idle_ns if each.severity is not Severity.INFO else 0))
        for each in ranked
    ]
    assert order == sorted(order)


# The registered rules, and running them


@pytest.mark.timeout(240)  # 40 s of CPU time on a quiet machine
def test_the_shares_of_every_fixture_make_a_hundred_percent() -> None:
    models = recorded().models.values()
    assert len(models) > 100
    for model in models:
        diagnosis = diagnose(model)
        claimed = sum(finding.claimed_ns for finding in diagnosis.findings)
        assert claimed + diagnosis.unclaimed_ns == whole_ns(model) and diagnosis.unclaimed_ns >= 0
        assert all(0 <= finding.share <= 1 for finding in diagnosis.findings)
        failed = [silence.reason for silence in diagnosis.silences if "rule itself failed" in silence.reason]
        # Some fixtures stand in for a fact with an object that knows only what the rule they are for asks.
        assert [reason for reason in failed if "SimpleNamespace" not in reason] == []


def below(id: str, path: Sequence[str] = ()) -> set[str]:
    """Return all that a rule beats, directly or through others."""
    assert id not in path, " -> ".join([*path, id])
    assert id in RULES, f"{path[-1]} beats {id}, which is no rule"
    return {found for beaten in RULES[id].beats for found in (beaten, *below(beaten, [*path, id]))}


def test_of_rules_that_can_name_the_same_account_one_beats_the_other_or_it_is_said_why_not() -> None:
    beaten = {id: below(id) for id in RULES}
    open_pairs = {
        frozenset((a, b))
        for a, b in combinations(RULES, 2)
        if set(RULES[a].accounts) & set(RULES[b].accounts) and a not in beaten[b] and b not in beaten[a]
    }
    assert open_pairs - UNDECLARED.keys() == set(), "declare who beats whom, or say in precedence.py why nobody has to"
    assert UNDECLARED.keys() - open_pairs == set(), "these share no account, or one beats the other"


def test_a_rule_stands_above_all_that_it_beats() -> None:
    level = levels(RULES)
    assert all(level[id] > level[beaten] for id in RULES for beaten in below(id))


def failing(model: Model) -> Iterable[Outcome]:
    yield Check("BAD", "said before the failure", 1.0, "count")
    raise ZeroDivisionError("no \n newline")


def test_a_rule_that_fails_takes_only_itself_down() -> None:
    good = [wanting("GOOD", cpu_user=5)]
    rules = {
        "BAD": replace(rule_named("BAD"), function=failing),
        "GOOD": replace(rule_named("GOOD"), function=lambda model: good),
    }
    diagnosis = diagnose(target({"cpu.user": 10}), rules)
    assert [finding.id for finding in diagnosis.findings] == ["GOOD"]
    assert diagnosis.unclaimed_ns == 5
    (silence,) = diagnosis.silences
    assert isinstance(silence, Silence) and silence.id == "BAD" and "\n" not in silence.reason
    assert "ZeroDivisionError" in silence.reason and not diagnosis.checks


@pytest.mark.parametrize(
    "build",
    [
        lambda: Builder().thread(),
        lambda: Builder(window="0 ns").thread(wall="0 ns"),
        lambda: Builder().thread().cut(),
        lambda: Builder().exited(cpu_user="50 ms"),
        lambda: Builder(),
    ],
    ids=["asleep", "no window", "cut off", "only exited", "no threads"],
)
def test_odd_recordings_break_no_rule(build: Any) -> None:
    diagnosis = diagnose(build().model())
    assert [s for s in diagnosis.silences if "failed" in s.reason and "rule" in s.reason] == []
    assert [finding.id for finding in diagnosis.findings if finding.severity is not Severity.INFO] == []

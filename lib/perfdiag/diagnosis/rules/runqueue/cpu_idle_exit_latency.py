"""CPU-IDLE-EXIT-LATENCY: woken threads wait until their CPU leaves a deep idle state."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from perfdiag.diagnosis.evidence.cpu.idle_states import (
    asleep,
    index_of,
    measured,
    name_of,
    not_as_declared,
    shallow_p50_ns,
    slept,
    trials,
)
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, runqueue_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    by_key,
    duration,
    percent,
    plain,
    together,
    total_ns,
    typical_ns,
    without_rows,
    worth,
)
from perfdiag.facts.host_facts import IdleState
from perfdiag.model.model import Model, Row
from perfdiag.recording.schema.limits import RECORDER

# The recorder's word for a file it stopped waiting for: its content is unknown, not absent.
NOT_IN_TIME = "timeout"
# Idle drivers of guests: the hypervisor stops the virtual CPU, and declared latencies mean nothing.
HALTING = ("haltpoll", "none")


@rule(
    "CPU-IDLE-EXIT-LATENCY",
    title="Woken threads wait until their CPU leaves a deep idle state",
    accounts=("runq.waking",),
    meaning=(
        "A thread was woken, its CPU was idle, and leaving the idle state took long. Every wake-up pays this, so"
        " services with little work per request and low load suffer most."
    ),
    measured=(
        "Time from wake-up to the switch on an idle CPU, by its idle state, less the cost of shallow states and"
        " wake-ups by the CPU's own interrupts. A fault needs a declared exit latency of 50 us (deep), or 100 us"
        " measured if none is declared. In a guest with halted CPUs it is a profile."
    ),
    alternatives=(
        "In a guest, the hypervisor runs the virtual CPU late. Interrupts and softirqs ran on the CPU first."
    ),
    remedies="Disable deep idle states, as a trial without a reboot. In a guest, use the haltpoll idle driver.",
    verify="runq.waking is under 5 % of busy time.",
)
def idle_exit(model: Model) -> Iterable[Outcome]:
    """Judge waits in runq.waking by the exit latency of the idle state."""
    halts = _halts(model)
    states = {} if halts else {state.index: state for state in model.facts.idle_states}
    groups = {key: rows for (_, key), rows in by_key(model.rows_of("runq.waking")).items()}
    known = sorted(filter(asleep, groups), key=lambda key: -total_ns(groups[key]))[: 2 * RECORDER["IDLE_STATES"]]
    deep = {key: groups[key] for key in known if _slow(states.get(index_of(key)), groups[key])}
    exits = _Exits(states, deep, shallow_p50_ns(groups, states), halts)
    if not worth(model, sum(exits.claims.values())):
        yield without_rows(model, "CPU-IDLE-EXIT-LATENCY", "runq.waking") or _little(model, exits)
        yield from _unseen(model, groups, states)
    elif not states and not halts and NOT_IN_TIME in model.facts.reason("idle_states"):
        yield Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"idle CPUs took {percent(model.share('runq.waking'))} of busy time to wake; reading their declared"
            " latencies timed out",
            f"when the host is less busy: {again(model)}",
        )
    else:
        yield _finding(model, exits)


@dataclass(frozen=True)
class _Exits:
    """The wake-ups of idle CPUs, by idle state."""

    states: Mapping[int, IdleState]  # by index, as declared; none where idle CPUs halt
    deep: Mapping[str, list[Row]]  # those from deep states, by key of `Row`
    shallow_ns: int | None  # the p50 of those from shallow states
    halts: bool  # the CPUs are virtual and halt

    @cached_property
    def claims(self) -> dict[str, int]:
        """The time of deep wake-ups beyond that of shallow ones, in ns, by key."""
        return {key: _more_than(rows, self.shallow_ns) for key, rows in self.deep.items()}

    def state(self, key: str) -> IdleState | None:
        """Return the state that a key of `Row` names, None where it is not declared."""
        return self.states.get(index_of(key))


def _little(model: Model, exits: _Exits) -> Check | Silence:
    share, ns = model.share("runq.waking"), sum(exits.claims.values())
    if worth(model, model.ns("runq.waking")) and not model.measured("idle_state") and not exits.states:
        return Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"idle CPUs took {percent(share)} of busy time to wake, from an unknown idle state",
            "perfdiag check (feature idle_state)",
        )
    return Check(
        "CPU-IDLE-EXIT-LATENCY",
        f"waking idle CPUs {percent(share)} of busy time, deep states"
        f" {percent(ns / model.busy_ns if model.busy_ns else 0.0)}"
        + (
            f" (more than the p50 {about(exits.shallow_ns)} of shallow ones)" if exits.deep and exits.shallow_ns else ""
        ),
        share,
        "share",
    )


def _finding(model: Model, exits: _Exits) -> Finding:
    ns = sum(exits.claims.values())
    named = ((key, claimed_ns) for key, claimed_ns in exits.claims.items() if claimed_ns)
    names = ", ".join(f"{name_of(exits.state(key), key)} {percent(claimed_ns / ns)}" for key, claimed_ns in named)
    headline, why = "CPUs wake slowly from deep idle states", f" from {names}."
    alternatives = ["interrupts were disabled on that CPU", "if this is a guest: its hypervisor"]
    if exits.halts:
        headline = "Halted virtual CPUs wake slowly: the hypervisor must run them first"
        why = ": the hypervisor must run the virtual CPU first."
        alternatives = ["the hypervisor schedules this virtual CPU late"]
    return conclude(
        model,
        {("runq.waking", key): claimed_ns for key, claimed_ns in exits.claims.items() if claimed_ns},
        headline=headline,
        claim=(
            f"Woken threads waited {duration(ns)}{' longer' if exits.shallow_ns else ''} for their idle CPU to wake"
            f"{why}"
        ),
        mechanism=Mechanism.SLOW,
        departs=not exits.halts,
        doubts=_doubts(model, exits),
        evidence=[
            *(measured(exits.state(key), key, group) for key, group in exits.deep.items()),
            *_stays(exits.shallow_ns),
            *(e for key in exits.deep if (e := slept(model, exits.state(key))) is not None),
        ],
        remedies=trials(list(exits.states.values()), [index_of(key) for key in exits.deep], exits.halts),
        alternatives=alternatives,
        verify=time_under(model, "runq.waking"),
    )


def _doubts(model: Model, exits: _Exits) -> Iterable[str]:
    if not exits.states and not exits.halts:
        yield f"no idle state declares its exit latency ({model.facts.idle_driver or 'no driver'})"
    if exits.shallow_ns:
        yield "the cost of shallow states is subtracted by medians, an estimate"
    if exits.states and any(_undeclared(exits.state(key)) for key in exits.deep):
        yield "the declared latency of one state is unknown"
    for key, group in exits.deep.items():
        yield not_as_declared(exits.state(key), together(group))


def _halts(model: Model) -> bool:
    """Return whether idle CPUs are virtual and halt: declared latencies then mean nothing."""
    machine = model.facts.hypervisor
    declared = model.facts.idle_states and model.facts.idle_driver not in HALTING
    return machine is not None and machine.name != "none" and not declared


def _slow(state: IdleState | None, rows: list[Row]) -> bool:
    if state is not None and state.exit_latency_ns is not None:
        return state.exit_latency_ns >= cpu_policy.deep_idle_state_ns
    return typical_ns(together(rows)) >= runqueue_policy.undeclared_exit_ns


def _undeclared(state: IdleState | None) -> bool:
    return state is None or state.exit_latency_ns is None


def _more_than(rows: list[Row], shallow_ns: int | None) -> int:
    """Return the time of wake-ups from one state beyond the cost of shallow states."""
    whole = together(rows)
    p50 = whole.quantile_ns(0.5)
    if not shallow_ns or not p50:
        return whole.sum_ns
    return round(whole.sum_ns * max(0.0, 1 - shallow_ns / p50))


def _stays(shallow_ns: int | None) -> list[Evidence]:
    if not shallow_ns:
        return []
    text = f"{duration(shallow_ns)} per wake-up from shallow states is subtracted (it stays)"
    return [Evidence(text, float(shallow_ns), "ns", "ledger")]


def _unseen(model: Model, groups: Mapping[str, list[Row]], states: Mapping[int, IdleState]) -> Iterable[Silence]:
    """Yield the silence on deep states left before the thread's wait began, if that may matter."""
    count, most_ns, names = 0, 0, set()
    for key, rows in groups.items():
        state = states.get(index_of(key))
        if (
            key.endswith(":left")
            and state is not None
            and (state.exit_latency_ns or 0) >= cpu_policy.deep_idle_state_ns
        ):
            number = together(rows).count
            count += number
            most_ns += number * (state.exit_latency_ns or 0)
            names.add(plain(state.name))
    if worth(model, most_ns):
        yield Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"{count:,} wake-ups came from interrupts of a CPU just out of {', '.join(names)}: leaving the state came"
            f" before the wait, up to {duration(most_ns)} as declared",
            f"try cpupower idle-set -D {cpu_policy.deep_idle_state_ns // 1000}, then {again(model)};"
            " undo: cpupower idle-set -E",
        )

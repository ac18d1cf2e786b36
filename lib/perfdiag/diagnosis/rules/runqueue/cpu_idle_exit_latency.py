"""CPU-IDLE-EXIT-LATENCY: woken threads wait until their CPU leaves a deep idle state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.cpu.idle_states import (
    DEEP_NS,
    asleep,
    index_of,
    measured,
    name_of,
    not_as_declared,
    shallow_p50_ns,
    slept,
    trials,
)
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    by_key,
    duration,
    fault,
    percent,
    plain,
    together,
    typical_ns,
    without_rows,
    worth,
)
from perfdiag.facts.host_facts import IdleState
from perfdiag.model.model import Model, Row

# Without a declared latency (most guests) a CPU wakes within 100 us if its host lets it.
UNDECLARED_NS = 100_000
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
        "Time from wake-up to the switch on an idle CPU, by its idle state, with the declared exit latency and the"
        " time slept in each state. The cost of shallow states is subtracted. A fault needs a declared latency of 50"
        " us (deep), or 100 us measured if none is declared. In a guest with halted CPUs it is a profile. Wake-ups by"
        " the CPU's own interrupts are counted apart: leaving the state comes before their wait."
    ),
    alternatives=(
        "In a guest, the hypervisor runs the virtual CPU late. Interrupts and softirqs ran on the CPU first."
    ),
    remedies="Disable deep idle states, as a trial without a reboot. In a guest, use the haltpoll idle driver.",
    verify="With the state disabled, runq.waking and the p50 per wake-up fall.",
)
def idle_exit(model: Model) -> Iterable[Outcome]:
    """Judge waits in runq.waking by the exit latency of the idle state."""
    share = model.share("runq.waking")
    halts = _halts(model)
    states = {} if halts else {state.index: state for state in model.facts.idle_states}
    groups = {key: rows for (_, key), rows in by_key(model.rows_of("runq.waking")).items()}
    deep = {key: rows for key, rows in groups.items() if asleep(key) and _slow(states.get(index_of(key)), rows)}
    shallow_ns = shallow_p50_ns(groups, states)
    claims = {key: _more_than(rows, shallow_ns) for key, rows in deep.items()}
    ns = sum(claims.values())
    rowless = without_rows(model, "CPU-IDLE-EXIT-LATENCY", "runq.waking")
    if not worth(model, ns):
        if rowless:
            yield rowless
        elif worth(model, model.ns("runq.waking")) and not model.measured("idle_state") and not states:
            yield Silence(
                "CPU-IDLE-EXIT-LATENCY",
                f"idle CPUs took {percent(share)} of busy time to wake, from an unknown idle state",
                "perfdiag check (feature idle_state)",
            )
        else:
            yield Check(
                "CPU-IDLE-EXIT-LATENCY",
                f"waking idle CPUs {percent(share)} of busy time, deep states"
                f" {percent(ns / model.busy_ns if model.busy_ns else 0.0)}"
                + (f" (more than the p50 {about(shallow_ns)} of shallow ones)" if deep and shallow_ns else ""),
                share,
                "share",
            )
        yield from _unseen(model, groups, states)
        return
    if not states and not halts and NOT_IN_TIME in model.facts.reason("idle_states"):
        yield Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"idle CPUs took {percent(share)} of busy time to wake; reading their declared latencies timed out",
            f"when the host is less busy: {again(model)}",
        )
        return
    names = ", ".join(
        f"{name_of(states.get(index_of(key)), key)} {percent(claimed_ns / ns)}"
        for key, claimed_ns in claims.items()
        if claimed_ns
    )
    yield conclude(
        model,
        {("runq.waking", key): claimed_ns for key, claimed_ns in claims.items() if claimed_ns},
        headline=(
            "Halted virtual CPUs wake slowly: the hypervisor must run them first"
            if halts
            else "CPUs wake slowly from deep idle states"
        ),
        claim=(
            f"Woken threads waited {duration(ns)}{' longer' if shallow_ns else ''} for their idle CPU to wake"
            + (": the hypervisor must run the virtual CPU first." if halts else f" from {names}.")
        ),
        mechanism=Mechanism.SLOW,
        severity=Severity.INFO if halts else fault(model, ns),
        doubts=[
            ""
            if states or halts
            else f"no idle state declares its exit latency ({model.facts.idle_driver or 'no driver'})",
            "the cost of shallow states is subtracted by medians, an estimate" if shallow_ns else "",
            "the declared latency of one state is unknown"
            if states and any(_undeclared(states.get(index_of(key))) for key in deep)
            else "",
            *(not_as_declared(states.get(index_of(key)), together(group)) for key, group in deep.items()),
        ],
        evidence=[
            *(measured(states.get(index_of(key)), key, group) for key, group in deep.items()),
            *_stays(shallow_ns),
            *(e for key in deep if (e := slept(model, states.get(index_of(key)))) is not None),
        ],
        remedies=trials(list(states.values()), [index_of(key) for key in deep], halts),
        alternatives=["the hypervisor schedules this virtual CPU late"]
        if halts
        else ["interrupts were disabled on that CPU", "if this is a guest: its hypervisor"],
        verify=f"{again(model)}   (runq.waking, p50 per wake-up)",
    )


def _halts(model: Model) -> bool:
    """Return whether idle CPUs are virtual and halt: declared latencies then mean nothing."""
    machine = model.facts.hypervisor
    declared = model.facts.idle_states and model.facts.idle_driver not in HALTING
    return machine is not None and machine.name != "none" and not declared


def _slow(state: IdleState | None, rows: list[Row]) -> bool:
    if state is not None and state.exit_latency_ns is not None:
        return state.exit_latency_ns >= DEEP_NS
    return typical_ns(together(rows)) >= UNDECLARED_NS


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
        if key.endswith(":left") and state is not None and (state.exit_latency_ns or 0) >= DEEP_NS:
            number = together(rows).count
            count += number
            most_ns += number * (state.exit_latency_ns or 0)
            names.add(plain(state.name))
    if worth(model, most_ns):
        yield Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"{count:,} wake-ups came from interrupts of a CPU just out of {', '.join(names)}: leaving the state came"
            f" before the wait, up to {duration(most_ns)} as declared",
            f"try cpupower idle-set -D {DEEP_NS // 1000}, then {again(model)}; undo: cpupower idle-set -E",
        )


__all__ = ["idle_exit"]

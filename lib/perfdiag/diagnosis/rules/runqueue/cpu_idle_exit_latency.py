"""A rule on woken threads that wait until their CPU has left a deep idle state."""

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
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    by_key,
    duration,
    fault,
    judged,
    percent,
    plain,
    together,
    typical_ns,
    without_rows,
    worth,
)
from perfdiag.facts.host_facts import IdleState
from perfdiag.model.model import Model, Row

# Without a declared latency (most guests) a CPU is up within 100 us if its host lets it.
UNDECLARED_NS = 100_000
# The recorder's word for a file that it did not wait for any longer: what it says is unknown, not absent.
NOT_IN_TIME = "timeout"
# Idle drivers of guests that leave the virtual CPU to the hypervisor, whatever latency they declare.
HALTING = ("haltpoll", "none")


@rule(
    "CPU-IDLE-EXIT-LATENCY",
    title="Woken threads wait until their CPU leaves a deep idle state",
    accounts=("runq.waking",),
    meaning="A thread was woken, its CPU was idle, and leaving the idle state took long. Each wake-up pays for it:"
    " services that do little work per request feel it most, and the less load, the more.",
    measured="Exact time from sched_waking to the switch on a CPU that had been idle since before, by the idle state it"
    " was in, over the whole window; beside it the exit latency the driver declares for that state, and how often and"
    " how long the CPUs that the target ran on slept in it. What wake-ups out of shallow states take in the same window"
    " stays when deep ones are forbidden: it is taken off. A fault from 50 us declared on (deep states), or from"
    " 100 us measured where nothing is declared. In a guest whose idle CPUs halt it is the hypervisor that wakes them:"
    " profile, from 100 us on. Not in it: the time before an interrupt reaches the CPU that handles it. Where a state"
    " is slept in with interrupts off, as intel_idle does, that is all of its exit latency for what the CPU's own"
    " interrupts wake: such wake-ups are counted apart, with the state left before.",
    alternatives="In a guest: the time the hypervisor needs to run the virtual CPU again. Interrupts and softirqs that"
    " the CPU handled first.",
    remedies="Forbid the deep states, as a trial at once and without a reboot; a busier CPU; polling before halt in a"
    " guest (haltpoll).",
    verify="Measure again with the state disabled: runq.waking and the p50 per wake-up must fall.",
)
def idle_exit(model: Model) -> Iterable[Outcome]:
    """Join runq.waking rows with the declared exit latency of the idle state left."""
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
                f"{percent(share)} of busy time waited for idle CPUs to wake, from which state is not known",
                "perfdiag check (feature idle_state)",
            )
        else:
            yield Check(
                "CPU-IDLE-EXIT-LATENCY",
                f"waking idle CPUs {percent(share)} of busy time, from deep states"
                f" {percent(ns / model.busy_ns if model.busy_ns else 0.0)}"
                + (f" more than from shallow ones (p50 {about(shallow_ns)})" if deep and shallow_ns else ""),
                share,
                "share",
            )
        yield from _unseen(model, groups, states)
        return
    if not states and not halts and NOT_IN_TIME in model.facts.reason("idle_states"):
        yield Silence(
            "CPU-IDLE-EXIT-LATENCY",
            f"{percent(share)} of busy time waited for idle CPUs to wake, and what their states declare was not read in"
            " time",
            f"when the host is less busy: {again(model)}",
        )
        return
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            ""
            if states or halts
            else f"no idle state declares its exit latency here ({model.facts.idle_driver or 'no driver'})",
            "what shallow states take anyway is taken off by medians: an estimate" if shallow_ns else "",
            "what one of these states declares is not known"
            if states and any(_undeclared(states.get(index_of(key))) for key in deep)
            else "",
            *(not_as_declared(states.get(index_of(key)), together(group)) for key, group in deep.items()),
        ],
    )
    names = ", ".join(
        f"{name_of(states.get(index_of(key)), key)} {percent(claimed_ns / ns)}"
        for key, claimed_ns in claims.items()
        if claimed_ns
    )
    yield Finding(
        "CPU-IDLE-EXIT-LATENCY",
        Severity.INFO if halts else fault(model, ns),
        confidence,
        f"Woken threads waited {duration(ns)}{' longer' if shallow_ns else ''} until their idle CPU was up again"
        + (": the hypervisor has to run the virtual CPU first." if halts else f", out of {names}."),
        {("runq.waking", key): claimed_ns for key, claimed_ns in claims.items() if claimed_ns},
        [
            *(measured(states.get(index_of(key)), key, group) for key, group in deep.items()),
            *_stays(shallow_ns),
            *(e for key in deep if (e := slept(model, states.get(index_of(key)))) is not None),
        ],
        trials(list(states.values()), [index_of(key) for key in deep], halts),
        alternatives=["the hypervisor's own scheduling of this virtual CPU"]
        if halts
        else ["interrupts held off on that CPU", "a hypervisor below, if this is a guest"],
        limits=limits,
        verify=f"{again(model)}: runq.waking, p50 per wake-up",
        headline="Halted virtual CPUs wake slowly: the hypervisor has to run them first"
        if halts
        else "CPUs wake slowly from deep idle states",
        mechanism=Mechanism.SLOW,
    )


def _halts(model: Model) -> bool:
    """Whether an idle CPU here is a virtual one that halts: what its states declare is then not what waking takes."""
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
    """Return how much of the time of wake-ups out of one state is more than what shallow ones take anyway."""
    whole = together(rows)
    p50 = whole.quantile_ns(0.5)
    if not shallow_ns or not p50:
        return whole.sum_ns
    return round(whole.sum_ns * max(0.0, 1 - shallow_ns / p50))


def _stays(shallow_ns: int | None) -> list[Evidence]:
    if not shallow_ns:
        return []
    text = f"wake-ups out of shallow states take about {duration(shallow_ns)} here, which stays and is taken off"
    return [Evidence(text, float(shallow_ns), "ns", "ledger")]


def _unseen(model: Model, groups: Mapping[str, list[Row]], states: Mapping[int, IdleState]) -> Iterable[Silence]:
    """Yield the silence on deep states that were left before the thread's wait began, where that may be felt."""
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
            f"{count:,} threads were woken by interrupts of their own CPU just after it had left {', '.join(names)}:"
            f" leaving it came before their wait and was not measured, at most {duration(most_ns)} as declared",
            f"the trial tells: cpupower idle-set -D {DEEP_NS // 1000}, {again(model)}, undo with cpupower idle-set -E",
        )


__all__ = ["idle_exit"]

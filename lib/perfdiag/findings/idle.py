"""A rule on woken threads that wait until their CPU has left a deep idle state."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.facts import IdleState
from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Remedy, Severity, Silence, rule
from perfdiag.findings.target import again
from perfdiag.findings.weigh import (
    attempt,
    by_key,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    together,
    total_ns,
    typical_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model import Model, Row

# A wake-up costs 1 to 10 us from shallow states and is nobody's fault; states that declare 50 us or more are deep
# (Intel C6: 85 to 190 us).
DEEP_NS = 50_000
# Without a declared latency (most guests) a CPU is up within 100 us if its host lets it.
UNDECLARED_NS = 100_000
# Idle drivers of guests that leave the virtual CPU to the hypervisor, whatever latency they declare.
HALTING = ("haltpoll", "none")


@rule(
    "CPU-IDLE-EXIT-LATENCY",
    title="Woken threads wait until their CPU leaves a deep idle state",
    accounts=("runq.waking",),
    meaning="A thread was woken, its CPU was idle, and leaving the idle state took long. Each wake-up pays for it:"
    " services that do little work per request feel it most, and the less load, the more.",
    measured="Exact time from sched_waking to the switch on a CPU that had been idle since before, by the idle state it"
    " left, over the whole window; joined with the exit latency the driver declares for that state. A fault from"
    " 50 us declared on (deep states), or from 100 us measured where nothing is declared. In a guest whose idle CPUs"
    " halt it is the hypervisor that wakes them: profile, from 100 us on.",
    alternatives="In a guest: the time the hypervisor needs to run the virtual CPU again. The time before the interrupt"
    " reaches the sleeping CPU is in it too.",
    remedies="Forbid the deep states; a busier CPU; polling before halt in a guest (haltpoll).",
    verify="Measure again with the state disabled: runq.waking and the p50 per wake-up must fall.",
)
def idle_exit(model: Model) -> Iterable[Outcome]:
    """Join runq.waking rows with the declared exit latency of the idle state left."""
    share = model.share("runq.waking")
    if not model.measured("runq"):
        yield Silence("CPU-IDLE-EXIT-LATENCY", "waking of idle CPUs was not measured", "perfdiag check (feature runq)")
        return
    halts = _halts(model)
    states = {} if halts else {state.index: state for state in model.facts.idle_states}
    groups = {key: rows for (_, key), rows in by_key(model.rows_of("runq.waking")).items()}
    deep = {key: rows for key, rows in groups.items() if _slow(states.get(_index(key)), rows)}
    ns = sum(total_ns(rows) for rows in deep.values())
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
                f" {percent(ns / model.busy_ns if model.busy_ns else 0.0)}",
                share,
                "share",
            )
        return
    rows = [row for group in deep.values() for row in group]
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            ""
            if states or halts
            else f"no idle state declares its exit latency here ({model.facts.idle_driver or 'no driver'})"
        ],
    )
    names = ", ".join(
        f"{_name(states.get(_index(key)), key)} {percent(total_ns(group) / ns)}" for key, group in deep.items()
    )
    yield Finding(
        "CPU-IDLE-EXIT-LATENCY",
        Severity.INFO if halts else fault(model, ns),
        confidence,
        f"Woken threads waited {duration(ns)} until their idle CPU was up again"
        + (": the hypervisor has to run the virtual CPU first." if halts else f", out of {names}."),
        {("runq.waking", key): total_ns(group) for key, group in deep.items()},
        [
            waits(together(rows), "wake-ups of an idle CPU"),
            *(e for key in deep if (e := _declared(states.get(_index(key)))) is not None),
        ],
        _idle_remedies([state for key in deep if (state := states.get(_index(key))) is not None], halts),
        alternatives=["the hypervisor's own scheduling of this virtual CPU"]
        if halts
        else ["interrupts held off on that CPU", "a hypervisor below, if this is a guest"],
        limits=limits,
        verify=f"{again(model)}: runq.waking, p50 per wake-up",
    )


def _halts(model: Model) -> bool:
    """Whether an idle CPU here is a virtual one that halts: what its states declare is then not what waking takes."""
    machine = model.facts.hypervisor
    declared = model.facts.idle_states and model.facts.idle_driver not in HALTING
    return machine is not None and machine.name != "none" and not declared


def _index(key: str) -> int:
    """Return the state in "idle:STATE", -1 for none."""
    number = key.removeprefix("idle:")
    return int(number) if key.startswith("idle:") and number.isascii() and number.isdigit() and len(number) < 4 else -1


def _slow(state: IdleState | None, rows: list[Row]) -> bool:
    if state is not None and state.exit_latency_ns is not None:
        return state.exit_latency_ns >= DEEP_NS
    return typical_ns(together(rows)) >= UNDECLARED_NS


def _name(state: IdleState | None, key: str) -> str:
    return plain(state.name if state else (key or "an unknown state"))


def _declared(state: IdleState | None) -> Evidence | None:
    if state is None or state.exit_latency_ns is None:
        return None
    return Evidence(
        f"{state.name} declares {duration(state.exit_latency_ns)} to leave",
        float(state.exit_latency_ns),
        "ns",
        "cpuidle",
    )


def _idle_remedies(states: list[IdleState], guest: bool) -> list[Remedy]:
    if guest:
        return [
            fix(
                "on the host: forbid deep idle states there, or let KVM poll before it halts (halt_poll_ns); in the"
                " guest: the haltpoll idle driver"
            )
        ]
    free = [state for state in sorted(states, key=lambda state: state.index) if not state.disabled_cpus]
    return [
        *(
            attempt(
                f"cpupower idle-set -d {state.index}",
                f"cpupower idle-set -e {state.index}",
                f"{state.name} enabled on all {state.cpus} CPUs (costs power, and turbo headroom of busy neighbours)",
            )
            for state in free
        ),
        fix("for good: a latency limit through /dev/cpu_dma_latency or tuned's latency-performance"),
    ]


__all__ = ["idle_exit"]

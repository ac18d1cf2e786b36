"""A rule on woken threads that wait until their CPU has left a deep idle state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.facts import IdleState
from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Remedy, Severity, Silence, rule
from perfdiag.findings.target import again
from perfdiag.findings.weigh import (
    about,
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
from perfdiag.model import Distribution, Model, Row

# A wake-up costs 1 to 10 us from shallow states and is nobody's fault; states that declare 50 us or more are deep
# (Intel C6: 85 to 190 us).
DEEP_NS = 50_000
# Half of the wake-ups in a quarter of what a state declares: its table is not what this CPU does.
FAR_BELOW = 4
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
    " was in, over the whole window; beside it the exit latency the driver declares for that state, and how often and"
    " how long the CPUs that the target ran on slept in it. A fault from 50 us declared on (deep states), or from"
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
    if not model.measured("runq"):
        yield Silence("CPU-IDLE-EXIT-LATENCY", "waking of idle CPUs was not measured", "perfdiag check (feature runq)")
        return
    halts = _halts(model)
    states = {} if halts else {state.index: state for state in model.facts.idle_states}
    groups = {key: rows for (_, key), rows in by_key(model.rows_of("runq.waking")).items()}
    deep = {key: rows for key, rows in groups.items() if _asleep(key) and _slow(states.get(_index(key)), rows)}
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
        yield from _unseen(model, groups, states)
        return
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            ""
            if states or halts
            else f"no idle state declares its exit latency here ({model.facts.idle_driver or 'no driver'})",
            *(_not_as_declared(states.get(_index(key)), together(group)) for key, group in deep.items()),
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
            *(_measured(states.get(_index(key)), key, group) for key, group in deep.items()),
            *(e for key in deep if (e := _slept(model, states.get(_index(key)))) is not None),
        ],
        _idle_remedies(list(states.values()), [_index(key) for key in deep], halts),
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


def _asleep(key: str) -> bool:
    """Whether the CPU was in its state when the thread was woken, as far as known: neither before nor after it."""
    return key != "idle:awake" and not key.endswith(":left")


def _index(key: str) -> int:
    """Return the state in "idle:STATE" and "idle:STATE:left", -1 for none."""
    number = key.removeprefix("idle:").removesuffix(":left")
    return int(number) if key.startswith("idle:") and number.isascii() and number.isdigit() and len(number) < 4 else -1


def _slow(state: IdleState | None, rows: list[Row]) -> bool:
    if state is not None and state.exit_latency_ns is not None:
        return state.exit_latency_ns >= DEEP_NS
    return typical_ns(together(rows)) >= UNDECLARED_NS


def _name(state: IdleState | None, key: str) -> str:
    return plain(state.name if state else (key or "an unknown state"))


def _measured(state: IdleState | None, key: str, rows: list[Row]) -> Evidence:
    """Return what waking took out of one state, with what it declares."""
    what = f"wake-ups out of {_name(state, key)}"
    if state is not None and state.exit_latency_ns is not None:
        what += f", which declares {duration(state.exit_latency_ns)} to leave"
    return waits(together(rows), what)


def _not_as_declared(state: IdleState | None, measured: Distribution) -> str:
    p50 = measured.quantile_ns(0.5)
    if state is None or not state.exit_latency_ns or p50 is None or FAR_BELOW * p50 >= state.exit_latency_ns:
        return ""
    return (
        f"p50 {about(p50)} is far below the {duration(state.exit_latency_ns)} that {plain(state.name)} declares: it"
        " may not be what the firmware says"
    )


def _slept(model: Model, state: IdleState | None) -> Evidence | None:
    """Return how the CPUs that the target ran on slept in a state."""
    sums = [entry for cpu in model.cpus for entry in cpu.idle if state is not None and entry[0] == state.index]
    if state is None or not sums or not model.window_ns:
        return None
    count, ns = sum(entry[1] for entry in sums), sum(entry[2] for entry in sums)
    part = min(1.0, ns / (model.window_ns * len(model.cpus)))
    return Evidence(
        f"the {len(model.cpus)} CPUs it ran on entered {plain(state.name)} {count:,} times and spent {percent(part)} of"
        f" the window in it, {about(ns // max(1, count))} each",
        float(ns),
        "ns",
        "cpu_idle",
    )


def _unseen(model: Model, groups: Mapping[str, list[Row]], states: Mapping[int, IdleState]) -> Iterable[Silence]:
    """Yield the silence on deep states that were left before the thread's wait began, where that may be felt."""
    count, most_ns, names = 0, 0, set()
    for key, rows in groups.items():
        state = states.get(_index(key))
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


def _idle_remedies(states: list[IdleState], deep: list[int], guest: bool) -> list[Remedy]:
    if guest:
        return [
            fix(
                "on the host: forbid deep idle states there, or let KVM poll before it halts (halt_poll_ns); in the"
                " guest: the haltpoll idle driver"
            )
        ]
    for_good = fix("for good: a latency limit through /dev/cpu_dma_latency or tuned's latency-performance")
    costs = "costs power, and turbo headroom of busy neighbours"
    # Of a known set of states nobody has touched yet, all deep ones at once; its undo enables every state.
    if states and all(state.disabled_cpus == 0 and state.exit_latency_ns is not None for state in states):
        present = ", ".join(f"{plain(state.name)} {(state.exit_latency_ns or 0) // 1000}" for state in states)
        trial = attempt(
            f"cpupower idle-set -D {DEEP_NS // 1000}",
            "cpupower idle-set -E",
            f"all states enabled on all {states[0].cpus} CPUs known (us to leave: {present}); {costs}",
        )
        return [trial, for_good]
    free = [state for state in states if state.index in deep and not state.disabled_cpus]
    return [
        *(
            attempt(
                f"cpupower idle-set -d {state.index}",
                f"cpupower idle-set -e {state.index}",
                f"{plain(state.name)} enabled on all {state.cpus} CPUs known ({costs})",
            )
            for state in free
        ),
        for_good,
    ]


__all__ = ["idle_exit"]

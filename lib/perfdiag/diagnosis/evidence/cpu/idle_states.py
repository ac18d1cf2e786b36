"""Idle states of CPUs: what waking from them took, and how to disable them."""

from collections.abc import Mapping

from perfdiag.common.units import plural
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import about, attempt, duration, fix, percent, plain, together, waits
from perfdiag.facts.host_facts import IdleState
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution


def shallow_p50_ns(groups: Mapping[str, list[Row]], states: Mapping[int, IdleState]) -> int | None:
    """Return the p50 of wake-ups out of shallow states, but for polling; None where there were too few.

    This cost (leaving the idle loop, or the hypervisor) stays when deep states are disabled.
    """
    rows = [
        row
        for key, group in groups.items()
        if asleep(key)
        and (state := states.get(index_of(key)))
        and 0 < (state.exit_latency_ns or 0) < cpu_policy.deep_idle_state_ns
        for row in group
    ]
    found = together(rows)
    return found.quantile_ns(0.5) if found.count >= cpu_policy.idle_wake_ups else None


def asleep(key: str) -> bool:
    """Whether the CPU was in its state when the thread was woken, as far as known: neither before nor after it."""
    return key != "idle:awake" and not key.endswith(":left")


def index_of(key: str) -> int:
    """Return the state in "idle:STATE" and "idle:STATE:left", -1 for none."""
    number = key.removeprefix("idle:").removesuffix(":left")
    return int(number) if key.startswith("idle:") and number.isascii() and number.isdigit() and len(number) < 4 else -1


def name_of(state: IdleState | None, key: str) -> str:
    """Return the name of a state, or what was recorded of it."""
    return plain(state.name if state else (key or "an unknown state"))


def measured(state: IdleState | None, key: str, rows: list[Row]) -> Evidence:
    """Return how long wake-ups from one state took, with its declared latency."""
    what = f"wake-ups from {name_of(state, key)}"
    if state is not None and state.exit_latency_ns is not None:
        what += f" (declared {duration(state.exit_latency_ns)})"
    return waits(together(rows), what)


def not_as_declared(state: IdleState | None, found: Distribution) -> str:
    """Return a limit if half of the wake-ups were much faster than the state declares, else ""."""
    p50 = found.quantile_ns(0.5)
    if (
        state is None
        or not state.exit_latency_ns
        or p50 is None
        or cpu_policy.idle_latency_mismatch_factor * p50 >= state.exit_latency_ns
    ):
        return ""
    return (
        f"p50 {about(p50)} is far below the declared {duration(state.exit_latency_ns)} of {plain(state.name)}; the"
        " firmware's table may be wrong"
    )


def slept(model: Model, state: IdleState | None) -> Evidence | None:
    """Return how long the target's CPUs slept in a state."""
    sums = [entry for cpu in model.cpus for entry in cpu.idle if state is not None and entry[0] == state.index]
    if state is None or not sums or not model.window_ns:
        return None
    count, ns = sum(entry[1] for entry in sums), sum(entry[2] for entry in sums)
    part = min(1.0, ns / (model.window_ns * len(model.cpus)))
    return Evidence(
        f"{percent(part)} of the window in {plain(state.name)}: {plural(len(model.cpus), 'CPU')} entered it"
        f" {count:,} times, {about(ns // max(1, count))} each",
        float(ns),
        "ns",
        "cpu_idle",
    )


def trials(states: list[IdleState], deep: list[int], guest: bool) -> list[Remedy]:
    """Return how to disable deep states: as a trial if the present settings are known, and permanently."""
    if guest:
        return [
            fix(
                "on the host: disable deep idle states, or raise halt_poll_ns of KVM; in the guest: use the haltpoll"
                " idle driver"
            )
        ]
    for_good = fix("permanently: tuned-adm profile latency-performance, or /dev/cpu_dma_latency")
    costs = "costs power, and turbo headroom of other cores"
    # If all states are known and enabled, disable all deep ones at once; the undo enables every state.
    if states and all(state.disabled_cpus == 0 and state.exit_latency_ns is not None for state in states):
        present = ", ".join(f"{plain(state.name)} {(state.exit_latency_ns or 0) // 1000}" for state in states)
        trial = attempt(
            f"cpupower idle-set -D {cpu_policy.deep_idle_state_ns // 1000}",
            "cpupower idle-set -E",
            f"all states enabled on {states[0].cpus} CPUs (us to leave: {present}); {costs}",
        )
        return [trial, for_good]
    free = [state for state in states if state.index in deep and not state.disabled_cpus]
    return [
        *(
            attempt(
                f"cpupower idle-set -d {state.index}",
                f"cpupower idle-set -e {state.index}",
                f"{plain(state.name)} enabled on {state.cpus} CPUs; {costs}",
            )
            for state in free
        ),
        for_good,
    ]

"""What recordings and hosts say of single idle states, and how they are forbidden."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import about, attempt, duration, fix, percent, plain, together, waits
from perfdiag.facts.host_facts import IdleState
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# A wake-up costs 1 to 10 us from shallow states and is nobody's fault; states that declare 50 us or more are deep
# (Intel C6: 85 to 190 us).
DEEP_NS = 50_000
# Half of the wake-ups in a quarter of what a state declares: its table is not what this CPU does.
FAR_BELOW = 4
# Of fewer wake-ups the median says little of what a state costs.
ENOUGH_WAKE_UPS = 30


def shallow_p50_ns(groups: Mapping[str, list[Row]], states: Mapping[int, IdleState]) -> int | None:
    """Return the p50 of wake-ups out of shallow states, but for polling; None where there were too few.

    What those take, the CPU's own way out of the idle loop or a hypervisor's way back to it, stays when the deep
    states are forbidden.
    """
    rows = [
        row
        for key, group in groups.items()
        if asleep(key) and (state := states.get(index_of(key))) and 0 < (state.exit_latency_ns or 0) < DEEP_NS
        for row in group
    ]
    found = together(rows)
    return found.quantile_ns(0.5) if found.count >= ENOUGH_WAKE_UPS else None


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
    """Return what waking took out of one state, with what it declares."""
    what = f"wake-ups out of {name_of(state, key)}"
    if state is not None and state.exit_latency_ns is not None:
        what += f", which declares {duration(state.exit_latency_ns)} to leave"
    return waits(together(rows), what)


def not_as_declared(state: IdleState | None, found: Distribution) -> str:
    """Return the limit of a state that half of the wake-ups left much faster than it declares, else nothing."""
    p50 = found.quantile_ns(0.5)
    if state is None or not state.exit_latency_ns or p50 is None or FAR_BELOW * p50 >= state.exit_latency_ns:
        return ""
    return (
        f"p50 {about(p50)} is far below the {duration(state.exit_latency_ns)} that {plain(state.name)} declares: it"
        " may not be what the firmware says"
    )


def slept(model: Model, state: IdleState | None) -> Evidence | None:
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


def trials(states: list[IdleState], deep: list[int], guest: bool) -> list[Remedy]:
    """Return how the deep states are forbidden: as a trial, where it is known what is allowed now, and for good."""
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


__all__ = [
    "DEEP_NS",
    "asleep",
    "index_of",
    "measured",
    "name_of",
    "not_as_declared",
    "shallow_p50_ns",
    "slept",
    "trials",
]

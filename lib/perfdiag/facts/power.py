"""Frequency and idle states: what is allowed, what was declared, what the CPUs really got."""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, stdev

from perfdiag.facts.processor import cpuinfo, read_processor, stat_times
from perfdiag.facts.texts import Texts, add, changes, natural, number, table, words_of

CPU = "/sys/devices/system/cpu"
BUSY_SHARE = 0.5  # a CPU at least so busy is taken to have been running when its clock was sampled
SAMPLES_MIN = 3


@dataclass(frozen=True)
class FrequencyPolicy:
    """One cpufreq policy.  A governor's name says nothing about the delivered clock."""

    name: str  # "policy0"
    cpus: str | None  # "0 1 2 3"
    driver: str | None
    governor: str | None
    energy_preference: str | None
    max_hz: int | None  # what the policy allows now
    hardware_max_hz: int | None  # with turbo, where the driver counts it in
    base_hz: int | None  # without turbo
    begin_hz: int | None = None  # scaling_cur_freq at the begin: on most drivers the clock that was asked for last
    firmware_hz: int | None = None  # the most that the firmware allows now (bios_limit)


@dataclass(frozen=True)
class DeliveredClock:
    """The clock the CPUs really ran at while they were not idle, whoever ran."""

    hz: float | None  # None where only the ratio is known
    ratio: float | None  # to the rated clock
    error_ratio: float | None  # half width: how far the CPUs, or the samples, are apart
    rated_hz: int | None
    cpus: int  # how many CPUs (or policies, where sampled) it was measured on
    method: str  # "APERF/MPERF over the window" or "scaling_cur_freq, 12 samples of busy CPUs"
    cpu_ratios: Mapping[int, float] = field(default_factory=dict)  # by CPU, where that is known


@dataclass(frozen=True)
class IdleState:
    """One cpuidle state, summed over the CPUs it was recorded of."""

    index: int
    name: str
    exit_latency_ns: int | None  # declared by the firmware or driver
    disabled_cpus: int
    cpus: int
    time_ns: int | None  # begin to end


def read_policies(texts: Texts) -> Sequence[FrequencyPolicy]:
    """Read all recorded policies in the order of their CPUs."""
    return [_policy(texts, name) for name in texts.names(rf"{CPU}/cpufreq/(policy[0-9]+)/scaling_driver")]


def _policy(texts: Texts, name: str) -> FrequencyPolicy:
    def hz(file: str, phase: str | None = None) -> int | None:
        path = f"{CPU}/cpufreq/{name}/{file}"
        khz = texts.number(path, phase) if path in texts else None
        return None if khz is None else khz * 1000

    def word(file: str) -> str | None:
        return texts.word(f"{CPU}/cpufreq/{name}/{file}")

    return FrequencyPolicy(
        name=name,
        cpus=word("affected_cpus"),
        driver=word("scaling_driver"),
        governor=word("scaling_governor"),
        energy_preference=word("energy_performance_preference"),
        max_hz=hz("scaling_max_freq"),
        hardware_max_hz=hz("cpuinfo_max_freq"),
        base_hz=hz("base_frequency"),
        begin_hz=hz("scaling_cur_freq", "begin"),
        firmware_hz=hz("bios_limit"),
    )


def read_delivered_clock(texts: Texts) -> DeliveredClock | None:
    """Measure with the CPUs' own counters, else with samples that are known to come from them."""
    processor = read_processor(texts)
    rated_hz = processor.rated_hz if processor else None
    return _counted(texts, rated_hz) or _sampled(texts, rated_hz)


def _counted(texts: Texts, rated_hz: int | None) -> DeliveredClock | None:
    deltas, ratios = [], {}
    for path, match in texts.match(r"/dev/cpu/([0-9]{1,6})/msr"):
        delta = changes(table(texts.text(path, "begin")), table(texts.text(path, "end")))
        if delta.get("mperf") and "aperf" in delta:
            deltas.append((delta["mperf"], delta["aperf"]))
            ratios[int(match[1])] = delta["aperf"] / delta["mperf"]
    if not deltas:
        return None
    busy = sum(mperf for mperf, _ in deltas)
    ratio = sum(aperf for _, aperf in deltas) / busy
    spread = math.sqrt(sum(mperf * (aperf / mperf - ratio) ** 2 for mperf, aperf in deltas) / busy)
    return DeliveredClock(
        hz=ratio * rated_hz if rated_hz else None,
        ratio=ratio,
        error_ratio=spread,
        rated_hz=rated_hz,
        cpus=len(deltas),
        method="APERF/MPERF over the window",
        cpu_ratios=ratios,
    )


def _sampled(texts: Texts, rated_hz: int | None) -> DeliveredClock | None:
    """On x86 scaling_cur_freq is what APERF/MPERF counted in the last ticks; elsewhere only what was asked for."""
    if "aperfmperf" not in words_of(cpuinfo(texts).get("flags")):
        texts.missing("the CPU shows no aperfmperf: only the requested clock is known")
        return None
    samples: list[int] = []
    policies: dict[str, tuple[list[str], list[int]]] = {}  # its CPUs and samples
    intervals = _busy_intervals(texts)
    for path, match in texts.match(rf"{CPU}/cpufreq/(policy[0-9]+)/scaling_cur_freq"):
        cpus = words_of(texts.text(f"{CPU}/cpufreq/{match[1]}/affected_cpus"))
        for at_ns, text in texts.series(path):
            khz, latest = number(text), bisect(intervals, at_ns, key=lambda interval: interval[0]) - 1
            busy = intervals[latest][1] if latest >= 0 else {}
            if khz and any(busy.get(f"cpu{cpu}", 0) >= BUSY_SHARE for cpu in cpus):
                samples.append(khz * 1000)
                policies.setdefault(match[1], (cpus, []))[1].append(khz * 1000)
    if len(samples) < SAMPLES_MIN:
        texts.missing(f"only {len(samples)} samples of the clock fell on a busy CPU")
        return None
    mean, error = fmean(samples), 2 * stdev(samples) / math.sqrt(len(samples))
    return DeliveredClock(
        hz=mean,
        ratio=mean / rated_hz if rated_hz else None,
        error_ratio=error / rated_hz if rated_hz else None,
        rated_hz=rated_hz,
        cpus=len(policies),
        method=f"scaling_cur_freq, {len(samples)} samples of busy CPUs",
        cpu_ratios={
            int(cpu): fmean(found) / rated_hz
            for cpus, found in policies.values()
            for cpu in cpus
            if rated_hz and number(cpu) is not None
        },
    )


def _busy_intervals(texts: Texts) -> list[tuple[int, dict[str, float]]]:
    """Return how busy each CPU was between one reading of /proc/stat and the next, with the time of the latter."""
    readings = [(at_ns, stat_times(text)) for at_ns, text in texts.series("/proc/stat")]
    return [
        (at_ns, {name: _busy_share(changes(first.get(name, {}), times)) for name, times in last.items()})
        for (_, first), (at_ns, last) in pairwise(readings)
    ]


def _busy_share(delta: Mapping[str, int]) -> float:
    total = sum(ticks for name, ticks in delta.items() if not name.startswith("guest"))
    return 1 - (delta.get("idle", 0) + delta.get("iowait", 0)) / total if total else 0.0


def read_idle_states(texts: Texts) -> Sequence[IdleState]:
    """Sum each state over the recorded CPUs."""
    pattern = rf"{CPU}/(cpu[0-9]+/cpuidle/state[0-9]+)/name"
    by_index: dict[int, list[str]] = {}
    for place in texts.names(pattern):
        index = number(place.rpartition("state")[2])
        if index is not None:
            by_index.setdefault(index, []).append(f"{CPU}/{place}")
    return [_idle_state(texts, index, sorted(by_index[index], key=natural)) for index in sorted(by_index)]


def _idle_state(texts: Texts, index: int, places: list[str]) -> IdleState:
    latency = texts.number(f"{places[0]}/latency")
    time_us = add(texts.delta(f"{place}/time") for place in places)
    return IdleState(
        index=index,
        name=texts.word(f"{places[0]}/name") or f"state{index}",
        exit_latency_ns=None if latency is None else latency * 1000,
        disabled_cpus=sum(texts.word(f"{place}/disable") not in ("0", None) for place in places),
        cpus=len(places),
        time_ns=None if time_us is None else time_us * 1000,
    )

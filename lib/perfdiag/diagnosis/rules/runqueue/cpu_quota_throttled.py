"""CPU-QUOTA-THROTTLED: the target's cgroup has used up its CPU quota, or a thread what its policy leaves to it."""

import math
from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.cpu.main_work import need_less
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples, words
from perfdiag.diagnosis.evidence.fix_checks import steady, time_under
from perfdiag.diagnosis.evidence.runqueue.policy_limits import held_by_policy, of_policies
from perfdiag.diagnosis.evidence.target import CPU, setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    EvidenceKind,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import brief, duration, fix, percent, plain, together, total_ns, waits, worth
from perfdiag.facts.host_facts import CpuGroup
from perfdiag.model.model import Model, Row


@rule(
    "CPU-QUOTA-THROTTLED",
    title="A CPU quota or reserved CPU time is used up",
    accounts=("runq.throttled",),
    meaning=(
        "Threads of the target were runnable, but their cgroup (or a parent) had used up its CPU quota and was"
        " stopped until the next period, up to 100 ms each time; or a thread had used up the runtime that it reserved"
        " for itself (SCHED_DEADLINE); or the real-time threads of its CPU had used up what the kernel leaves to them"
        " (sched_rt_runtime_us). CPUs may be idle meanwhile."
    ),
    measured=(
        "Time of runnable threads inside a throttled group, by the group's throttled clock at each switch, with"
        " quota, period and throttled periods from cpu.max and cpu.stat. Of SCHED_DEADLINE and of real-time threads,"
        " whether they were throttled when they left their CPU or were woken."
    ),
    alternatives="More work, a spinning thread, or more threads than the quota has CPUs may use up the quota.",
    remedies="Raise the quota, or match the number of threads to it; reserve more runtime (chrt -d); take threads that"
    " compute for long out of SCHED_FIFO and SCHED_RR.",
    verify=("runq.throttled is under 5 % of busy time; nr_throttled in the cpu.stat of the group stays the same."),
)
def throttled(model: Model) -> Iterable[Outcome]:
    """Join runq.throttled with the quota of the target's cgroups."""
    held = held_by_policy(model)
    yield from held
    of_policy, rows = of_policies(model.rows_of("runq.throttled"))
    ns = model.ns("runq.throttled") - total_ns(of_policy)
    group = _hit(model, rows)
    if not model.measured("throttle"):
        yield from _unmeasured(model, group)
        return
    if not ns and group and _often(group) and worth(model, model.ns(*CPU)):
        yield Silence(
            "CPU-QUOTA-THROTTLED",
            f"cgroup {plain(group.path)} was throttled in {group.throttled_periods:,} of {group.periods:,} periods, but"
            f" no thread of {subject(model)} was seen waiting: other members waited, or this kernel does not report it",
            f"move {subject(model)} to a cgroup of its own, and watch nr_throttled in its cpu.stat",
        )
        return
    if not worth(model, ns):
        if not held:
            share = ns / model.busy_ns if model.busy_ns else 0.0
            text = f"CPU quota cost {percent(share)} of busy time"
            yield Check("CPU-QUOTA-THROTTLED", f"{text} ({_quotas(model)})", share, "share")
        return
    evidence = [waits(together(rows), "waits for the next period")]
    if group:
        evidence.extend(_periods(group))
    evidence.extend(_used_for(model))
    yield conclude(
        model,
        {"runq.throttled": ns},
        headline=(
            "Threads are stopped by the CPU quota"
            + (f" of {brief(plain(group.path))}, {group.quota_cpus:g} CPUs" if group else "")
        ),
        claim=(
            f"Runnable threads were stopped for {duration(ns)} because their cgroup had used up its CPU quota"
            + (f" of {group.quota_cpus:g} CPUs ({plain(group.path)})." if group else ".")
        ),
        mechanism=Mechanism.LIMIT,
        doubts=[
            "" if group else f"the group's quota is unknown: {model.facts.reason('cpu_groups') or 'no group shows one'}"
        ],
        evidence=evidence,
        remedies=[*_raised(model, group), *need_less(model), _FEWER],
        alternatives=["more work, or a spinning thread, uses up the quota"],
        verify=time_under(model, "runq.throttled"),
    )


_FEWER = fix("run fewer busy threads, so that the quota lasts for the whole period")


def _hit(model: Model, rows: Sequence[Row]) -> CpuGroup | None:
    """Return the group with a quota that was throttled most."""
    limited = [g for g in model.facts.cpu_groups if g.quota_cpus is not None and not math.isinf(g.quota_cpus)]
    row = next(iter(rows), None)
    if row is not None:
        named = [group for group in limited if row.key == f"cgroup:{group.inode}"]
        if named:
            return named[0]
    return max(limited, key=lambda group: (group.throttled_ns or 0, group.throttled_periods or 0), default=None)


def _often(group: CpuGroup) -> bool:
    return bool(
        group.periods and (group.throttled_periods or 0) / group.periods >= runqueue_policy.throttled_periods_share
    )


def _unmeasured(model: Model, group: CpuGroup | None) -> Iterable[Outcome]:
    """Judge by the group's counters alone: they show throttling, but not which threads waited."""
    if group is None and model.facts.cpu_groups:
        if all(g.quota_cpus is not None for g in model.facts.cpu_groups):
            yield Check("CPU-QUOTA-THROTTLED", f"no CPU quota on any cgroup of {subject(model)}", 0.0, "count")
            return
    elif group and group.periods and group.throttled_periods is not None:
        if _often(group):
            yield conclude(
                model,
                {},
                headline=f"The CPU quota of {brief(plain(group.path))} is used up",
                claim=(
                    f"The cgroup {plain(group.path)} used up its CPU quota of {group.quota_cpus:g} CPUs in"
                    f" {group.throttled_periods:,} of {group.periods:,} periods."
                ),
                mechanism=Mechanism.LIMIT,
                severity=Severity.WARNING,
                doubts=["the waits of single threads were not measured; they are in runq.busy"],
                evidence=_periods(group),
                remedies=[*_raised(model, group), _FEWER],
                verify=steady(f"{group.path}/cpu.stat", "nr_throttled"),
            )
        else:
            part = group.throttled_periods / group.periods
            yield Check("CPU-QUOTA-THROTTLED", f"CPU quota used up in {percent(part)} of periods", part, "share")
        return
    yield Silence(
        "CPU-QUOTA-THROTTLED",
        "throttling by a CPU quota was not measured, and no cgroup counter shows it",
        "perfdiag check (feature throttle); nr_throttled in the cgroup's cpu.stat",
    )


def _quotas(model: Model) -> str:
    groups = model.facts.cpu_groups
    limited = [g.quota_cpus for g in groups if g.quota_cpus is not None and not math.isinf(g.quota_cpus)]
    if limited:
        return f"smallest quota {min(limited):g} CPUs"
    return "no quota" if groups and all(g.quota_cpus is not None for g in groups) else "quotas not read"


def _periods(group: CpuGroup) -> list[Evidence]:
    if group.periods is None or group.throttled_periods is None:
        return []
    return [
        Evidence(
            f"{group.throttled_periods:,} of {group.periods:,} periods throttled",
            float(group.throttled_periods),
            "count",
            f"{group.path}/cpu.stat",
        )
    ]


def _used_for(model: Model) -> list[Evidence]:
    """Return which functions used the quota up: a larger one helps nobody who spins."""
    samples = CpuSamples(model)
    own, kernel = samples.hottest(2), samples.hottest(2, kernel=True)
    most = max(own, kernel, key=lambda each: sum(hot.part.share for hot in each))
    if not most:
        return []
    text = f"the quota was used by {words(most)}"
    return [Evidence(text, float(samples.count), "count", FUNCTIONS, kind=EvidenceKind.FUNCTIONS)]


def _raised(model: Model, group: CpuGroup | None) -> list[Remedy]:
    """Return the trial of a quota that is enough for what the target ran and was kept from running, at least twice the
    present one: others share it."""
    if group is None or not group.period_ns or not group.quota_cpus or math.isinf(group.quota_cpus):
        return []
    period_us = group.period_ns // 1000
    quota_us = round(group.quota_cpus * period_us)
    ran_ns, kept_ns = model.ns(*CPU), model.ns("runq.throttled")
    wanted = min((ran_ns + kept_ns) / ran_ns if ran_ns else 0.0, runqueue_policy.largest_quota_factor)
    tenth_us = max(1, period_us // 10)
    raised_us = max(runqueue_policy.trial_quota_factor * quota_us, math.ceil(wanted * quota_us / tenth_us) * tenth_us)
    if group.version == 2:
        return [setting(f"{group.path}/cpu.max", f"{raised_us} {period_us}", f"{quota_us} {period_us}")]
    return [setting(f"{group.path}/cpu.cfs_quota_us", str(raised_us), str(quota_us))]

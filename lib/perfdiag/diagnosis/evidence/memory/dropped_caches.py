"""Page cache that somebody dropped on request in the window (/proc/sys/vm/drop_caches): it leaves no refaults."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import steady
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix, together, waits
from perfdiag.model.model import Model

DROPS, VMSTAT = "drop_pagecache", "/proc/vmstat"  # since Linux 3.15


def dropped(model: Model, account: str) -> Finding | None:
    """Return the finding on reads after the page cache was dropped again and again; None if it was not, or nobody
    counts that. Once may be somebody who measures."""
    times = model.facts.vmstat_delta(DROPS) or 0
    if times < memory_policy.dropped_again or times * memory_policy.dropped_each_ns < model.window_ns:
        return None
    ns = model.ns(account)
    return conclude(
        model,
        {account: ns},
        headline=f"The page cache was dropped on request {plural(times, 'time')}, and is read from disk again",
        claim=(
            f"Somebody dropped the page cache of this host {plural(times, 'time')} in the window; {subject(model)}"
            f" waited {duration(ns)} for reads."
        ),
        mechanism=Mechanism.MANY,
        doubts=["how much of what was read had been in the cache is not known"],
        evidence=[
            waits(together(model.rows_of(account)), "reads"),
            Evidence(f"{DROPS} rose by {times:,}", float(times), "count", VMSTAT),
        ],
        remedies=[
            fix(
                "find who drops the page cache, and stop that: dmesg names the process each time; cron jobs, timers and"
                " monitoring do it"
            )
        ],
        alternatives=[f"{subject(model)} reads all of this for the first time"],
        verify=steady(VMSTAT, DROPS),
    )

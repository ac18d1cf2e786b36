"""One run of the OOM killer in words, for the rule and for reports from a kernel log."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.memory.oom_causes import (
    CACHE,
    Cause,
    Holder,
    Holding,
    cause_of,
    elsewhere_bytes,
    group_holdings,
    holdings,
    in_the_way,
    largest_block_bytes,
    most_of_group,
)
from perfdiag.diagnosis.evidence.memory.oom_remedies import remedies_for, verify_for
from perfdiag.diagnosis.evidence.memory.oom_victims import Why, choice_of, growth_of, largest
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Remedy
from perfdiag.diagnosis.significance import duration, percent, plain, size
from perfdiag.facts.oom.oom_report import HostMemory, Report, Victim

PROBE = "kernel log"


@dataclass(frozen=True)
class Explained:
    """One run of the OOM killer: texts are printable, names in them escaped."""

    report: Report
    cause: Cause
    headline: str
    claim: str
    confidence: Confidence
    evidence: Sequence[Evidence]
    ruled_out: Sequence[str]
    alternatives: Sequence[str]
    limits: Sequence[str]
    remedies: Sequence[Remedy]
    verify: str


def explain(report: Report, earlier: Sequence[Report] = (), *, small_left_out: bool = False) -> Explained:
    """Explain a report; `earlier` ones of the same log show growth.
    `small_left_out`: its task table lacks small tasks, as in recordings.
    """
    cause = cause_of(report)
    held = holdings(report.host) if report.host else group_holdings(report.group) if report.group else []
    if report.of_group and report.group:
        held = group_holdings(report.group)
    limits = _limits(report, cause)
    steps = Confidence.HIGH if not limits else Confidence.LOW if cause is Cause.UNKNOWN else Confidence.MEDIUM
    return Explained(
        report=report,
        cause=cause,
        headline=f"{_killed(report)}: {_WHY[cause]}",
        claim=f"{_who(report)} {_because(report, cause, held)}",
        confidence=steps,
        evidence=[
            *_asked(report),
            *_composition(report, held),
            *_chosen(report, small_left_out),
            *_grown(report, earlier),
        ],
        ruled_out=_ruled_out(report, cause, held),
        alternatives=_alternatives(cause, held),
        limits=limits,
        remedies=remedies_for(cause, report, _worst(report, cause, held)),
        verify=verify_for(cause, report),
    )


def named(comm: str, pid: int | None) -> str:
    """Return a process as printed."""
    name = plain(comm) or "(no name)"
    return f"{name} (pid {pid})" if pid is not None else name


_WHY = {
    Cause.CGROUP: "its cgroup reached its memory limit",
    Cause.HOST: "the host is out of memory",
    Cause.CACHE: "shared, locked or dirty cache filled memory",
    Cause.FRAGMENTATION: "free pieces of memory were too small",
    Cause.NUMA: "its memory nodes were full",
    Cause.BY_HAND: "started by hand",
    Cause.UNKNOWN: "cause unknown",
}


def _killed(report: Report) -> str:
    """Return the victim, in brief."""
    victim = report.victim
    if victim is not None:
        return f"The OOM killer ended {named(victim.comm, victim.pid)}"
    nobody = not report.killable or report.panic
    return "The OOM killer found no process to kill" if nobody else "The OOM killer ran"


def _who(report: Report) -> str:
    victim = report.victim
    if victim is None:
        if not report.killable or report.panic:
            return "The OOM killer found no process to kill" + (", and the kernel panicked." if report.panic else ".")
        return "The OOM killer ran; its victim is not in the log."
    others = len(report.victims) - 1
    more = f" and {others} more of its group (memory.oom.group)" if others and report.whole_group is not None else ""
    more = more or (f" and {others} more" if others else "")
    return f"The OOM killer ended {named(victim.comm, victim.pid)}{more}."


def _worst(report: Report, cause: Cause, held: Sequence[Holding]) -> Holding | None:
    return most_of_group(report.group, held) if cause is Cause.CGROUP else in_the_way(held)


def _because(report: Report, cause: Cause, held: Sequence[Holding]) -> str:
    worst = _worst(report, cause, held)
    if cause is Cause.CGROUP:
        group = report.group
        path = plain(group.path) if group and group.path else "A control group"
        limit = f" of {size(group.limit_bytes)}" if group and group.limit_bytes is not None else ""
        what = f", mostly with {worst.holder.value} ({size(worst.bytes)})" if worst else ""
        return f"Cause: cgroup limit. {path} reached its memory limit{limit}{what}."
    if cause is Cause.NUMA:
        where = f"Memory node {plain(report.nodes)}" if report.nodes else "The allowed memory nodes"
        rest = elsewhere_bytes(report)
        free = f"; {size(rest)} were free on other nodes" if rest else ""
        return f"Cause: NUMA or cpuset. {where} had no memory left{free}."
    if cause is Cause.FRAGMENTATION and report.host:
        free_bytes = report.host.bytes("free") or 0
        wanted = report.host.page_bytes * report.order_pages
        return f"Cause: fragmentation. {size(free_bytes)} were free, but no {size(wanted)} in one piece."
    if cause is Cause.CACHE:
        parts = ", ".join(
            f"{each.holder.value} {size(each.bytes)}" for each in held if each.holder in CACHE and each.bytes
        )
        return f"Cause: unreclaimable cache. In use: {parts}."
    if cause is Cause.HOST:
        whole = report.host.usable_bytes if report.host else None
        what = f"{worst.holder.value} used {size(worst.bytes)}" if worst else "nothing could be freed"
        of = f" of {size(whole)}" if whole and worst else ""
        cache = sum(each.bytes for each in held if each.holder in CACHE)
        more = (
            f", and {size(cache)} of cache could not be freed"
            if whole and cache >= memory_policy.oom_part_share * whole
            else ""
        )
        return f"Cause: host memory. {what[0].upper()}{what[1:]}{of}{more}{_swap(report.host)}."
    if cause is Cause.BY_HAND:
        return "Somebody started it by hand (sysrq f)."
    return "Cause: unknown. The log lacks the lines with the use of memory."


def _swap(host: HostMemory | None) -> str:
    if host is None or host.swap_total_bytes is None:
        return ""
    if not host.swap_total_bytes:
        return "; there is no swap"
    if (
        host.swap_free_bytes is not None
        and host.swap_free_bytes <= memory_policy.swap_left_share * host.swap_total_bytes
    ):
        return f"; all {size(host.swap_total_bytes)} of swap were in use"
    return ""


def _limits(report: Report, cause: Cause) -> list[str]:
    found = [
        "" if report.begin else "the log lacks the start of the kernel's report",
        "names chosen by users make the line with the limit ambiguous: group and nodes may be wrong"
        if report.ambiguous
        else "",
        "lines of two reports are mixed: sizes may be of either" if report.mixed else "",
        "" if report.constraint or cause is Cause.UNKNOWN else "the log lacks the line with the limit (level info)",
    ]
    if report.begin and not report.mixed and cause is Cause.UNKNOWN:
        found.append("the log has no memory figures")
    host = report.host
    if cause in (Cause.CACHE, Cause.HOST) and host and host.swap_total_bytes and _swap(host) == "":
        found.append(f"{size(host.swap_free_bytes or 0)} of swap were free: it was too slow or not allowed")
    return [limit for limit in found if limit]


def _asked(report: Report) -> list[Evidence]:
    if not report.begin or report.order is None or report.order < 0:
        return []
    page = report.host.page_bytes if report.host else 4096
    wanted = page * report.order_pages
    pages = f"{report.order_pages} pages in one piece" if report.order else "a page"
    gfp = f", {plain(report.gfp)}" if report.gfp else ""
    text = f"{named(report.asker, report.asker_pid)} requested {pages} ({size(wanted)}, order {report.order}{gfp})"
    return [Evidence(text, float(wanted), "bytes", PROBE)]


def _composition(report: Report, held: Sequence[Holding]) -> list[Evidence]:
    """Return the use of memory, and the part of "cached" that could not be freed."""
    group = report.group if report.of_group else None
    whole = (group.usage_bytes if group else report.host.usable_bytes if report.host else None) or 0
    found = []
    shown = [each for each in held if each.bytes and each.bytes >= 0.01 * whole]
    if whole and shown:
        parts = ", ".join(f"{each.holder.value} {size(each.bytes)}" for each in shown)
        text = f"{size(whole)} {'in the cgroup' if group else 'in all'}: {parts}"
        found.append(Evidence(text, float(whole), "bytes", PROBE))
    if report.host and not report.of_group:
        found += _cached(report.host, held)
        if report.order:
            block = largest_block_bytes(report.host)
            free = size(report.host.bytes("free") or 0)
            text = f"{free} free, largest block {size(block)}" if block else f"{free} free, all of it reserved"
            found.append(Evidence(text, float(block or 0), "bytes", PROBE))
    return found


def _cached(host: HostMemory, held: Sequence[Holding]) -> list[Evidence]:
    if host.cache_pages is None:
        return []
    cached = host.cache_pages * host.page_bytes
    of = {each.holder: each.bytes for each in held}
    stuck = min(cached, sum(of.get(holder, 0) for holder in CACHE))
    words = {
        "active file": host.bytes("active_file"),
        "inactive file": host.bytes("inactive_file"),
        "shared memory": host.bytes("shmem"),
        "dirty": host.bytes("dirty"),
        "writeback": host.bytes("writeback"),
        "unstable on NFS": host.bytes("unstable"),
        "locked files": of.get(Holder.LOCKED_FILE),
    }
    parts = ", ".join(f"{name} {size(value)}" for name, value in words.items() if value)
    text = f"{size(cached)} cached, {percent(stuck / cached if cached else 0)} of it not freeable"
    return [Evidence(f"{text} ({parts})" if parts else text, stuck / cached if cached else 0.0, "share", PROBE)]


def _chosen(report: Report, small_left_out: bool) -> list[Evidence]:
    victim = report.victim
    if victim is None:
        return []
    choice = choice_of(report)
    row = choice.victim
    had = row.held_bytes if row else victim.resident_bytes
    held = f"{named(victim.comm, victim.pid)} used {size(had)}" if had is not None else named(victim.comm, victim.pid)
    adjustment = row.oom_score_adj if row else victim.oom_score_adj
    score = f" (oom_score_adj {adjustment})" if adjustment else ""
    rival = f"{named(choice.rival.name, choice.rival.pid)} {size(choice.rival.held_bytes)}" if choice.rival else ""
    match choice.why:
        case Why.ALLOCATING:
            why = "chosen because it requested memory (vm.oom_kill_allocating_task)"
        case Why.LARGEST if choice.rival is None:
            why = f"no other process {'of 4 MiB or more ' if small_left_out else ''}could be killed"
        case Why.LARGEST:
            number = "all" if small_left_out else choice.candidates
            why = f"the largest of {number} candidates; next {rival}"
        case Why.ADJUSTED:
            why = f"its oom_score_adj adds {size(choice.adjusted_bytes)}, more than {rival}"
        case Why.SPARED if choice.rival:
            why = f"oom_score_adj {choice.rival.oom_score_adj} protects {rival}"
        case _:
            why = "reason unknown: " + (
                f"{rival} had a higher score" if choice.rival else "the log has no row of it in a task table"
            )
    return [Evidence(f"{held}{score}: {why}", float(had or 0), "bytes", PROBE), *_kept(report, victim)]


def _kept(report: Report, victim: Victim) -> list[Evidence]:
    if victim.pid not in report.unreaped:
        return []
    return [Evidence("the kernel could not free its memory before it exited", 1.0, "count", PROBE)]


def _grown(report: Report, earlier: Sequence[Report]) -> list[Evidence]:
    growth = growth_of(report, earlier)
    if growth is not None:
        since = f" in {duration(growth.since_ns)}" if growth.since_ns is not None else ""
        text = (
            f"+{size(growth.bytes)}{since}: {named(growth.task.name, growth.task.pid)} grew most since the last report"
        )
        return [Evidence(text, float(growth.bytes), "bytes", PROBE)]
    first = largest(report)
    if len(first) < 2:
        return []
    text = ", ".join(f"{named(task.name, task.pid)} {size(task.held_bytes)}" for task in first)
    return [Evidence(f"largest processes at that time: {text}", float(first[0].held_bytes), "bytes", PROBE)]


def _ruled_out(report: Report, cause: Cause, held: Sequence[Holding]) -> list[str]:
    found = []
    if cause in (Cause.HOST, Cause.CACHE, Cause.FRAGMENTATION) and report.constraint == "CONSTRAINT_NONE":
        found.append("a limit of a cgroup, cpuset or memory policy: the kernel names none")
    if cause in (Cause.HOST, Cause.CACHE) and report.order == 0:
        found.append("fragmentation: the request was a single page")
    if cause is Cause.CGROUP and report.constraint == "CONSTRAINT_MEMCG":
        found.append("a shortage of the host: the kernel names the group's limit")
    if cause is Cause.HOST and report.host and report.host.usable_bytes:
        cache = sum(each.bytes for each in held if each.holder in CACHE)
        if cache < memory_policy.oom_part_share * report.host.usable_bytes:
            found.append(f"cache that cannot be freed: only {size(cache)}")
    return found


def _alternatives(cause: Cause, held: Sequence[Holding]) -> list[str]:
    match cause:
        case Cause.CGROUP:
            return ["a leak (a higher limit only delays it)"]
        case Cause.HOST:
            worst = in_the_way(held)
            if worst and worst.holder in (Holder.KERNEL, Holder.OTHER):
                return ["a leak in the kernel or a driver", "many open pipes or sockets with full buffers"]
            return ["a leak in the largest process", "too many processes for this memory"]
        case Cause.CACHE:
            return _of_cache(held)
        case _:
            return []


def _of_cache(held: Sequence[Holding]) -> list[str]:
    of = {each.holder: each.bytes for each in held}
    unwritten, whole = of.get(Holder.DIRTY, 0), sum(of.get(holder, 0) for holder in CACHE)
    slow = "writeback to a slow disk"
    return [slow] if unwritten and unwritten >= memory_policy.oom_part_share * whole else []

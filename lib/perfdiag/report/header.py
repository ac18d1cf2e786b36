"""The head of a report: what was measured, where, when, and what a reader must know before any number."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from perfdiag.common.text import printable
from perfdiag.common.units import count, duration, fine_share, plural
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.network.own_queues import on_purpose
from perfdiag.diagnosis.evidence.requests.objectives import without_match
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.policy import cpu_policy, general_policy
from perfdiag.diagnosis.rule import Finding
from perfdiag.diagnosis.settings.unusual_settings import explained, unusual_settings
from perfdiag.diagnosis.significance import percent
from perfdiag.model.builder import UNLISTED
from perfdiag.model.coverage.budget import budget_text, is_kept
from perfdiag.model.model import Host, Model
from perfdiag.recording.schema.limits import RECORDER
from perfdiag.report import contract
from perfdiag.report.requests import sample

_START_OF_EXEC_NS = 200_000_000  # an exec this early is that of a command perfdiag started itself
_NEARLY = 0.98
_MOST_SAID, _LONGEST_SAID = 20, 300  # kinds of lines of the kernel log, and letters of each


def target(model: Model) -> contract.Target:
    """Return the processes of the target, the first one given in front, and the words that asked for them."""
    processes = [
        contract.Process(pid=t.pid, namespace_pid=t.namespace_pid, comm=printable(t.comm)) for t in model.header.targets
    ]
    nobody = "whole host" if model.host else "(no target)"
    first = processes[0] if processes else contract.Process(pid=0, namespace_pid=0, comm=nobody)
    return contract.Target(
        command=again(model),
        pid=first.pid,
        namespace_pid=first.namespace_pid,
        comm=first.comm,
        processes=processes,
        threads=sum(thread.threads for thread in model.threads),
        applications=applications(model),
    )


def applications(model: Model) -> list[contract.Application]:
    """Return what was recognised in the target, and what was read of it."""
    servers = [
        contract.Application(
            pid=each.pid,
            kind=printable(each.kind),
            version=printable(each.version),
            processes=each.processes,
            means=printable(each.reads),
            lack=printable(each.lack or ""),
        )
        for each in model.applications
    ]
    machines = [
        contract.Application(
            pid=pid,
            kind="hotspot",
            version="",
            processes=1,
            means=f"counters in {machine.end.way}" if machine.end else "",
            lack=printable(machine.unread),
        )
        for pid, machine in sorted(model.facts.java_machines.items())
    ]
    return servers + machines


def kernel_log(model: Model) -> list[contract.KernelSaid]:
    """Return what the kernel complained of in the window; hosts differ in how many kinds of trouble they have."""
    log = model.facts.kernel_log
    said = log.complaints()[:_MOST_SAID] if log else ()
    flood = []
    if log and log.logged and log.logged * 1e9 >= general_policy.log_flood_rate * model.window_ns:
        text = (
            f"{log.logged:,} lines in {duration(model.window_ns)}: what logs may wait for a slow console (dmesg -n 1)"
        )
        flood = [contract.KernelSaid(text=text, count=1)]
    return flood + [contract.KernelSaid(text=printable(text, _LONGEST_SAID), count=number) for text, number in said]


def unusual(model: Model, findings: Sequence[Finding]) -> list[contract.UnusualSetting]:
    """Return what is set in an unusual way and bears on much of the time, and which findings say so themselves."""
    reasons = {setting: findings[at].id for at, setting in explained(model, findings).items()}
    ids = {each.id for each in findings}
    return [
        contract.UnusualSetting(
            text=printable(each.text, _LONGEST_SAID),
            effect=each.effect,
            shown_by=printable(each.shown_by, _LONGEST_SAID),
            ns=each.ns,
            findings=[reasons[each]] if each in reasons else sorted(ids.intersection(each.told_by)),
        )
        for each in unusual_settings(model)
    ]


def window(model: Model) -> contract.Window:
    """Return the measured window."""
    try:
        start = datetime.fromtimestamp(model.header.realtime_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):  # a clock gone mad, or a hostile recording
        start = "unknown"
    return contract.Window(
        start=start,
        duration_ns=model.window_ns,
        asked_ns=model.header.options.duration_ns,
        ended=printable(model.coverage.reason),
    )


def host(model: Model) -> contract.Host:
    """Return the host of the recording."""
    recorded, hypervisor = model.header.host, model.facts.hypervisor
    return contract.Host(
        name=printable(recorded.nodename),
        kernel=printable(recorded.release),
        machine=printable(recorded.machine),
        cpus=recorded.cpus_online,
        hypervisor=printable(hypervisor.name) if hypervisor else None,
    )


def notes(model: Model) -> list[str]:
    """Return what must not be hidden: a cut window, a target gone or restarted, processes left out or added, a limit
    that nothing matched."""
    asked_ns, reason = model.header.options.duration_ns, model.coverage.reason
    short = bool(asked_ns) and model.window_ns < _NEARLY * asked_ns
    found = []
    if not model.coverage.complete:
        found.append(f"CUT SHORT: the recording has no end, its last line came after {duration(model.window_ns)}")
    elif reason == "targets gone":
        several = "all processes " if len(model.header.targets) > 1 else ""
        found.append(f"{several}ended after {duration(model.window_ns)}")
    elif reason == "output closed":
        found.append(f"CUT SHORT: the recorder's output was closed after {duration(model.window_ns)}")
    elif short:
        found.append(f"ended early: {duration(model.window_ns)} of {duration(asked_ns)}")
    found += _processes(model) if model.host is None else _everyone(model.host)
    found += _slowed(model) + _over_budget(model) + _sampled(model)
    found += [text] if (text := on_purpose(model)) else []
    found += without_match(model)
    found += _restarts(model)
    ended = sum(thread.threads for thread in model.threads if thread.exited and thread.comm != UNLISTED)
    if ended and reason != "targets gone":
        full = sum(bool(thread.tid) for thread in model.threads) >= RECORDER["THREAD_ROWS"]
        found.append(f"{plural(ended, 'thread')} ended in the window{' or had no room for a row of their own' * full}")
    if any(thread.comm == UNLISTED for thread in model.threads):
        which = "not all" if any(thread.tid for thread in model.threads) else "no"
        found.append(f"{which} threads are listed: the recording is cut off")
    return found


def _everyone(host: Host) -> list[str]:
    if host.left_out is None:
        return ["threads that slept all the time are left out, and were not counted"]
    return [f"{plural(host.left_out, 'thread')} slept all the time: left out of all numbers"] if host.left_out else []


def _processes(model: Model) -> list[str]:
    named = [t.comm for t in model.header.targets]
    found = []
    if len(named) > 1:
        found.append(f"{count(len(named))} processes: {_by_name(named)}")
    if not model.header.options.descendants:
        found.append("only the named processes: descendants, if any, are left out")
    return found


def _slowed(model: Model) -> list[str]:
    """Return that recording itself took much of the target's CPU time, and how to measure without that."""
    probes = CpuSamples(model).recording
    if probes.share - probes.error < cpu_policy.recording_felt_share:
        return []
    without = "" if model.header.options.no_apps else f" (without them: {again(model, '--no-apps')})"
    return [f"SLOWED by perfdiag: its probes take {percent(probes.share)} of CPU time{without}"]


def _over_budget(model: Model) -> list[str]:
    """Return that the budget was not kept, though all was given up that can be."""
    cost, ppm = model.cost, model.header.options.max_cost_ppm
    if cost is None or ppm is None or is_kept(cost, model.header.options) is not False:
        return []
    took = fine_share((cost.kept_ns or 0) / (cost.kept_of_ns or 1))
    return [f"OVER BUDGET: measuring takes {took} of the target's CPU time, more than --max-cost {budget_text(ppm)}"]


def _sampled(model: Model) -> list[str]:
    """Return that numbers of requests are estimates, wherever they stand in the report."""
    found = sample(model)
    if found is None:
        return []
    since = f"one connection in {found.one_of} was followed after {duration(found.after_ns)}"
    return [f"SAMPLED: {since}; numbers of requests are estimates, +-{fine_share(found.error)}"]


def _by_name(comms: list[str]) -> str:
    largest = Counter(comms).most_common()
    named = ", ".join(printable(comm) + (f" ({number})" if number > 1 else "") for comm, number in largest[:4])
    rest = sum(number for _, number in largest[4:])
    return named + (f" and {count(rest)} more" if rest else "")


def _restarts(model: Model) -> list[str]:
    pids = {t.pid for t in model.header.targets}
    asked = model.header.options.asked  # "": the recorder was run by itself, perhaps with a command
    execs = [e for e in model.events if e.name == "exec" and e.pid in pids]
    if asked.startswith("-- "):
        execs = execs[1:]  # the first is that of the command itself, however long it takes on a busy host
    late_ns = model.header.start_ns + (_START_OF_EXEC_NS if not asked or asked.startswith("-- ") else 0)
    late = [e for e in execs if e.at_ns >= late_ns]
    if not late:
        return []
    first, after_ns = late[0], late[0].at_ns - model.header.start_ns
    more = f" (and {plural(len(late) - 1, 'exec')} more)" if len(late) > 1 else ""
    return [f"RESTARTED: {first.pid} became {printable(first.text)} after {duration(after_ns)}{more}"]


def work(model: Model) -> list[contract.Work]:
    """Return the bytes the target's processes moved, where the host counted them."""
    found = []
    for name, field in (
        ("read", "read_characters"),
        ("written", "written_characters"),
        ("read from storage", "read_bytes"),
        ("written to storage", "written_bytes"),
    ):
        known = [amount for p in model.facts.processes.values() if (amount := getattr(p, field)) is not None]
        if known:
            found.append(contract.Work(name=name, amount=sum(known), unit="bytes"))
    return found

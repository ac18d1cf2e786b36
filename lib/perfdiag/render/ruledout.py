"""Checks without a finding: subjects in words, or each check with its number."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import plural
from perfdiag.render.layout import DIM, HEADING, Page, Section
from perfdiag.report.contract import Checked, Report

# What a reader wants to hear first, and the rules that must all have looked.
SUBJECTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("CPU contention", ("CPU-CONTENTION", "CPU-OVERSUBSCRIBED")),
    ("CPU quota", ("CPU-QUOTA-THROTTLED",)),
    ("steal", ("CPU-STOLEN",)),
    ("locks", ("LOCK-CONTENTION", "SQL-LOCK-WAIT", "SQL-IDLE-IN-TRANSACTION")),
    ("disk reads", ("DISK-READ-SLOW",)),
    ("disk flushes", ("DISK-FLUSH-SLOW",)),
    ("disk errors", ("DISK-ERRORS",)),
    ("network peers", ("NET-PEER-SLOW",)),
    ("retransmissions", ("NET-RETRANSMITS", "NET-CONNECT-SLOW")),
    ("swap", ("MEM-SWAP-IN",)),
    ("memory reclaim", ("MEM-RECLAIM",)),
    ("memory limit", ("MEM-CGROUP-LIMIT",)),
    ("NFS", ("NFS-SERVER-SLOW", "NFS-COMMIT-SLOW", "NFS-CLIENT-QUEUE")),
    ("low clock", ("CPU-FREQUENCY-LOW",)),
    ("idle states", ("CPU-IDLE-EXIT-LATENCY",)),
    ("interrupts", ("CPU-IRQ-HEAVY",)),
    ("local peers", ("IPC-PEER-SLOW",)),
    ("emulated devices", ("VIRT-EMULATED-DEVICE", "KVM-EXIT-EMULATED-IO")),
    ("NUMA", ("NUMA-REMOTE",)),
    ("KSM", ("KSM-SCAN",)),
    ("OOM kills", ("OOM-KILL",)),
)


def ruled_out(report: Report) -> list[str]:
    """Return the subjects that are ruled out: all their rules looked, found nothing, and saw nothing large."""
    doubtful = {each.id for each in report.findings} | {each.id for each in report.checked if not each.fine}
    doubtful |= {id for item in report.not_measured for id in item.ids}
    looked = {each.id for each in report.checked} - doubtful
    return [name for name, ids in SUBJECTS if looked.issuperset(ids)]


def in_words(report: Report, page: Page, label: str, lines: int = 2, subjects: bool = True) -> list[Text]:
    """Return as many subjects as fit into `lines`, and how many checks there were."""
    if not report.checked:
        return []
    named, missing = ruled_out(report) if subjects else [], sum(not item.matters for item in report.not_measured)
    where = f"in {report.target.comm}: " if report.target.pid else ""  # and nowhere else
    behind = plural(len(report.checked), "check") + (f" passed, {missing} could not run" if missing else "")
    for shown in range(len(named), -1, -1):
        text = f"{where}{', '.join(named[:shown])} ({behind}: --full)" if shown else f"{behind} (--full)"
        found = page.wrapped(text, first=label)
        if len(found) <= lines:
            found[0].stylize(HEADING, 0, len(label.rstrip()))
            return found
    return page.wrapped(f"{behind} (--full)", first=label)


def number(report: Report) -> str:
    """Return how many checks were fine, and of how many if some were not measured."""
    missing = len(report.not_measured)
    checks = plural(len(report.checked) + missing, "check")
    return f"{len(report.checked)} of {checks}" if missing else checks


def in_full(report: Report, page: Page) -> list[Section]:
    """Return every check with its number, large numbers that are no fault first."""
    large = [check for check in report.checked if not check.fine]
    fine = [check for check in report.checked if check.fine]
    return [
        _checks(large, page, "LARGE, BUT NO FAULT"),
        _checks(fine, page, "RULED OUT"),
    ]


def _checks(checks: Sequence[Checked], page: Page, name: str) -> Section:
    lines = [Text(name, HEADING)] if checks else []
    for check in checks:
        lines += page.wrapped(f"{check.id}: {check.text}", rest="    ", style=DIM)
    return Section(lines, [])

"""The findings of a report: what takes the time, what a fix gives back, what to do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import duration, fine_share, share
from perfdiag.render.layout import HEADING, Block, Chunk, Page, Section, apart, clip, fit_on_one_line, heading
from perfdiag.report.contract import Evidence, Finding, Remedy, Report

FUNCTIONS = "functions"  # the kind of evidence that names code
_STYLES = {"critical": "bold red", "warning": "yellow"}


def causes(report: Report, page: Page) -> Section:
    """Findings by share; those that do not fit are folded with their sum."""
    faults = any(finding.severity != "info" for finding in report.findings)
    blocks = [_finding(page, index, finding, faults) for index, finding in enumerate(report.findings)]
    shares = [finding.share for finding in report.findings]
    remark = "share = the most a fix can return; nothing is counted twice"
    if report.request_time:
        time = report.request_time
        of = "what slow requests took more" if time.excess else "request time"
        remark = f"shares of {duration(time.ns)} of {of}, the most a fix can return"
    if faults and shares != sorted(shares, reverse=True):
        remark = "faults first; share = the most a fix can return"

    def fold(hidden: Sequence[int]) -> list[Text]:
        part = sum(report.findings[index].share for index in hidden)
        return [Text(f"and {len(hidden)} more: {share(part)}  (--full)")]

    title = heading("FINDINGS", remark, page.width) if blocks else [Text("FINDINGS  none", HEADING)]
    return Section(title, blocks, fold, [Text(_unclaimed(report, page))])


def _unclaimed(report: Report, page: Page) -> str:
    whole_ns = report.request_time.ns if report.request_time else report.busy_ns
    left = [f"{name} {share(ns / whole_ns)}" for name, ns in report.unclaimed.items()]
    line = f"NO FINDING CLAIMS {share(report.unclaimed_share)}"
    for number, each in enumerate(left):
        longer = line + (", " if number else ": ") + each
        more = f", {len(left) - number} more"
        if len(longer) + (len(more) if number + 1 < len(left) else 0) > page.width:
            return clip(line + more, page.width)
        line = longer
    return line


def _finding(page: Page, index: int, finding: Finding, faults: bool) -> Block:
    later = 4 if finding.severity == "info" and faults else 0  # a fact stands behind every fault
    # What is slow and what to do about it is what the report is read for: of the first finding before all else.
    first = 3 * index + later
    remedies = [Chunk(_remedy(page, remedy), first + 12 * number) for number, remedy in enumerate(finding.remedy)]
    # The functions are what somebody with a full CPU looks for: a remedy speaks of them.
    functions = [
        page.chunk(_with_error(each), 1 + first, limit=2, aside=True)
        for each in finding.evidence
        if each.kind == FUNCTIONS
    ]
    evidence = [
        page.chunk(_with_error(each), 5 + 4 * index + 6 * number + later, limit=2, aside=True)
        for number, each in enumerate(each for each in finding.evidence if each.kind != FUNCTIONS)
    ]
    last = 30 + 4 * index
    rest = [page.chunk(f"limited by: {text}", last, limit=2) for text in finding.limits]
    rest += [page.chunk(f"ruled out: {text}", last, limit=2) for text in finding.ruled_out]
    rest += [page.chunk(f"could also be: {text}", last, limit=2) for text in finding.alternatives]
    rest += [page.chunk(f"verify: {finding.verify}", last)] if finding.verify else []
    rest += [page.chunk(f"read on: {finding.runbook}", last)] if finding.runbook else []
    title = Chunk(_title(page, index, finding), 3 * index)
    claim = page.chunk(finding.claim, first, limit=3)
    return [title, claim, *functions, *remedies[:1], *evidence, *remedies[1:], *rest]


def _title(page: Page, index: int, finding: Finding) -> list[Text]:
    severity = "no fault" if finding.severity == "info" else finding.severity
    took = f"{share(finding.share):>5} {duration(finding.ns):>7}" if finding.ns else f"{'-':>5} {'no time':>7}"
    number = f"{index + 1} "
    left, right = f"{number}{finding.id:<24} {took}  {severity}", f"confidence {finding.confidence}"
    style = _STYLES.get(finding.severity, "")
    if fit_on_one_line(left, right, page.width):
        title = [Text(apart(left, right, page.width), style)]
    else:
        title = page.wrapped(f"{finding.id} {took} {severity}, {right}", first=number, style=style)
    if finding.runbook:
        title[0].stylize(f"link {finding.runbook}", len(number), len(number) + len(finding.id))
    return title


def _remedy(page: Page, remedy: Remedy) -> list[Text]:
    """Never cut: half a command is another command, and a trial without its undo is a trap."""
    undo = f"{remedy.undo}   (now: {remedy.present_value})" if remedy.present_value else remedy.undo
    lines = page.wrapped(remedy.text, first=f"  {remedy.kind:<6}")
    lines += page.wrapped(undo, first="  undo  ") if undo else []
    lines += page.wrapped(remedy.risk, first="  risk  ") if remedy.risk else []
    return lines


def _with_error(evidence: Evidence) -> str:
    if evidence.error is None or "+-" in evidence.text:
        return evidence.text
    shown = {"ns": duration, "share": fine_share}.get(evidence.unit)
    error = shown(evidence.error) if shown else f"{evidence.error:.3g} {evidence.unit}"
    coarse = ": too coarse to count on" if evidence.error >= evidence.value else ""
    return f"{evidence.text} (+-{error}{coarse})"


__all__ = ["causes"]

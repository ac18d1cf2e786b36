"""The findings of a report: their evidence, and remedies besides the first one, which stands above."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import duration, fine_share, share
from perfdiag.diagnosis.rule import EvidenceKind, Mechanism
from perfdiag.recording.accounts import explained_phrase_of, phrase_of
from perfdiag.render.account_tables import time_by_account
from perfdiag.render.head import STYLES
from perfdiag.render.layout import DIM, ESSENTIAL, HEADING, Block, Chunk, Page, Section, fit_on_one_line
from perfdiag.render.problem import (
    CALLS,
    can_be_faster,
    faults,
    is_remedied,
    numbered,
    remedy_lines,
    says,
    second_remedy,
    to_mend,
    told,
)
from perfdiag.report.contract import Evidence, Finding, Report
from perfdiag.report.status import CRITICAL, FAULTS

FUNCTIONS = EvidenceKind.FUNCTIONS.value
_STYLES = {**STYLES, "info": "bold"}
_CODE_LINES = 3  # of evidence: a path of calls is no use without its end
_PART = 0.01  # of a finding's time, from which on an account is told as a part of it
_ALL = 0.98  # of the rows that point to it: that is their time
_AFTER_FAULTS = 60  # of ranks: what is no fault stands behind what is


def causes(report: Report, page: Page) -> Section:
    """Return the findings by share; those that do not fit are folded with their sum."""
    said = told(report, page)
    shown = [(number, each) for number, each in numbered(report) if page.full or not _is_said(each, said)]
    mended = len(to_mend(report))
    blocks = [_finding(report, page, number, each, said, mended) for number, each in shown]

    def fold(hidden: Sequence[int]) -> list[Text]:
        folded = [shown[index][1] for index in hidden]
        part, facts = sum(each.share for each in folded), [each.severity not in FAULTS for each in folded]
        which = ", no fault" if all(facts) else ""
        names = ", ".join(dict.fromkeys(each.shown for each in folded))
        return [page.line(f"and {len(hidden)} more{which}{f', {share(part)}' if part else ''} (--full): {names}", DIM)]

    tail = _unclaimed(report, page) if page.full else []
    heading = [Text("FINDINGS", HEADING)] if page.full and blocks else []
    return Section(heading, blocks, fold, tail)


def _is_said(finding: Finding, said: str) -> bool:
    """Return whether it takes no busy time and is no fault, and the first lines say all of it that matters."""
    profile = not finding.ns and finding.severity not in FAULTS
    idle = bool(finding.idle_ns) and finding.mechanism != Mechanism.UNDETERMINED.value
    return profile and (idle or says(said, finding))


def _unclaimed(report: Report, page: Page) -> list[Text]:
    whole_ns = report.request_time.ns if report.request_time else report.busy_ns
    left = ", ".join(f"{name} {share(ns / whole_ns)}" for name, ns in report.unclaimed.items())
    text = f"No finding explains {share(report.unclaimed_share)} of the time"
    return page.wrapped(f"{text}: {left}" if left else text, first="", rest="  ", style=DIM)


def _finding(report: Report, page: Page, number: int, finding: Finding, said: str, mended: int) -> Block:
    """Return a finding; FIX names the first `mended` ones."""
    index = number - 1
    is_fault = finding.severity in FAULTS
    remedied = number <= mended and is_remedied(report, finding)
    pointed_at = remedied or (not index and not faults(report))  # by FIX, or by the table of time
    first = 2 + 2 * index if is_fault or pointed_at else ESSENTIAL + _AFTER_FAULTS + index
    later = ESSENTIAL + 3 * index + (0 if is_fault else _AFTER_FAULTS)
    says = [line for text in _says(finding, said, page) for line in page.wrapped(text, limit=3)]
    blocks = [Chunk([*_title(page, number, finding, remedied), *says], first)]
    if parts := _parts(report, finding):
        blocks.append(page.chunk(parts, first + 1, rest="    ", limit=2, style=DIM))
    ordered = _ordered(finding.evidence)
    first_shown = next((each for each in ordered if each.kind != CALLS), None)
    if any(each.kind == CALLS for each in ordered) and first_shown and first_shown.kind == FUNCTIONS:
        first_shown = None  # the path tells them, and who calls them
    for place, each in enumerate(ordered):
        rank = first + 1 if each is first_shown or each.kind == CALLS else later + 8 * max(0, place - 1)
        limit = _CODE_LINES if each.kind in (FUNCTIONS, CALLS) else 2
        blocks.append(page.chunk(_with_error(each), rank, rest="    ", limit=limit, aside=True, style=DIM))
    above = remedied or finding is can_be_faster(report)
    stands = 1 + bool(remedied and second_remedy(finding, page)) if above else 0  # above already
    for place, remedy in enumerate(finding.remedy[stands:]):
        label = {"risky": "risky  "}.get(remedy.kind, "or     " if above or place else "fix    ")
        rank = first + 1 if not above and not place else later + 12 + place
        blocks.append(Chunk(remedy_lines(remedy, page, f"  {label}"), rank, aside=True))
    return [*blocks, *_rest(finding, page, later + 20)]


def _parts(report: Report, finding: Finding) -> str:
    """Return what the time of a finding is made of, where it is not that of the rows that point to it."""
    parts = {account: ns for account, ns in finding.accounts.items() if ns >= _PART * finding.ns}
    rows = time_by_account(report)
    whole_ns = sum(rows.get(account, 0) for account in parts)
    alone = all(explained_phrase_of(account) for account in parts)
    if (alone and len(parts) == 1) or finding.ns >= _ALL * whole_ns:
        return ""
    told = ", ".join(_part(ns, rows[account], account) for account, ns in parts.items())
    return f"made up of {told}" if len(parts) > 1 else told


def _part(ns: int, whole_ns: int, account: str) -> str:
    explained = explained_phrase_of(account)  # has a row of its own
    of = f" of {duration(whole_ns)}" if ns < _ALL * whole_ns and not explained else ""
    return f"{duration(ns)}{of} {explained or phrase_of(account)}"


def _ordered(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence; of what is computed, the code is first: the path of calls, then the hottest functions."""
    computes = any(each.kind == FUNCTIONS for each in evidence)
    return sorted(evidence, key=lambda each: computes and each.kind not in (FUNCTIONS, CALLS))


def _rest(finding: Finding, page: Page, rank: int) -> list[Chunk]:
    """Return how to check a fix, and what limits the finding."""
    told = [("Check the fix", finding.verify, rank - 18), ("Read on", finding.runbook or "", rank + 2)]
    told += [("Less sure because", text, rank) for text in finding.limits]
    told += [("Not because of", text, rank) for text in finding.ruled_out]
    told += [("Could also be", text, rank + 1) for text in finding.alternatives]
    return [
        page.chunk(f"{name}: {text}", rank, rest="    ", limit=2, aside=True, style=DIM)
        for name, text, rank in told
        if text
    ]


def _says(finding: Finding, said: str, page: Page) -> list[str]:
    """Return what a finding says beyond what was printed above; on a full page all of it."""
    headline = [] if says(said, finding) else [f"{finding.headline}."]
    return [*headline, *([finding.claim] if page.full and finding.claim else [])]


def _title(page: Page, number: int, finding: Finding, remedied: bool) -> list[Text]:
    """Return the line above a finding; of one that FIX names, nobody is told that it is no fault."""
    fault = "critical" if finding.severity == CRITICAL else "" if remedied or finding.severity in FAULTS else "no fault"
    took = f"idle    {duration(finding.idle_ns):>7}" if finding.idle_ns else ""
    took = f"{share(finding.share):>5}   {duration(finding.ns):>7}" if finding.ns else took
    more = "   ".join(text for text in (took, fault) if text)
    first = f"{number} "
    left, right = f"{first}{finding.shown:<23} {more}".rstrip(), f"{finding.confidence} confidence"
    style = _STYLES.get(finding.severity, HEADING)
    if fit_on_one_line(left, f" {right}", page.width):
        title = [Text(f"{left}   {right}")]
    else:
        title = page.wrapped(f"{' '.join(filter(None, (finding.shown, more)))}, {right}", first=first)
    title[0].stylize(style, 0, len(first) + len(finding.shown))
    if finding.runbook:
        title[0].stylize(f"link {finding.runbook}", len(first), len(first) + len(finding.shown))
    return title


def _with_error(evidence: Evidence) -> str:
    if evidence.without_sum:  # that stands in the title
        return evidence.without_sum
    whole = evidence.unit == "share" and evidence.value >= 1  # "100 % (+-9 %)" is read as a mistake
    if evidence.error is None or whole or "+-" in evidence.text:
        return evidence.text
    shown = {"ns": duration, "share": fine_share}.get(evidence.unit)
    error = shown(evidence.error) if shown else f"{evidence.error:.3g} {evidence.unit}"
    coarse = ": too coarse to rely on" if evidence.error >= evidence.value else ""
    return f"{evidence.text} (+-{error}{coarse})"

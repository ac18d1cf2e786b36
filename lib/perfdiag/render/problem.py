"""What is wrong, in three lines, and right below what to do about it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from types import MappingProxyType

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.rule import Confidence, EvidenceKind, Mechanism
from perfdiag.render.head import STYLES
from perfdiag.render.layout import COLUMNS, ESSENTIAL, HEADING, Block, Chunk, Page, Section, clip
from perfdiag.report.contract import Finding, Remedy, Report
from perfdiag.report.status import BUSY, CANNOT_TELL, CRITICAL, FAULTLESS, FAULTS, IDLE_WORD, OK
from perfdiag.report.verdict.sentences import Kind

LINES = 3
SLO_BREACH = "SLO-BREACH"
CALLS = EvidenceKind.CALLS.value
FELT = 0.05  # of the window, of requests' time or busy time: of what is shorter nobody wants less
_CALM_LINES = {BUSY: 3, OK: 2, IDLE_WORD: 1}  # of what is not wrong, unless its first sentence takes more
_LABELS = {CANNOT_TELL: "CANNOT TELL", BUSY: "BUSY", OK: "NO PROBLEM", IDLE_WORD: "IDLE"}
_CANNOT = re.compile(r"^Cannot tell:? *")
_SECOND = 2  # lines that a second remedy may take at most
_FIXES = 3  # of as many findings, the others stand with theirs
_INDENT = " " * 9
_FASTER, _FASTER_OF_REQUESTS = 0.5, 0.25  # of the time, from which on it is worth a try to make it shorter


def numbered(report: Report) -> list[tuple[int, Finding]]:
    """Return the findings with the numbers that a page gives them: those that FIX names first, as it does."""
    mended = _mended(report)
    first = {id(each) for each in mended}  # equal ones are several
    return list(enumerate([*mended, *(each for each in report.findings if id(each) not in first)], 1))


def faults(report: Report) -> list[tuple[int, Finding]]:
    """Return the findings of severity warning or worse with their numbers."""
    return [(number, each) for number, each in numbered(report) if each.severity in FAULTS]


def problem(report: Report, page: Page) -> Section:
    """Return at most three lines of 80 columns that name every fault or say how many more there are."""
    status = report.verdict.status
    label = f"{_LABELS.get(status, 'PROBLEM'):<7}  "
    text = told(report, page)
    lines = page.wrapped(text, first=label, rest=_rest(label), limit=_limit(page), style=HEADING)
    if lines:
        lines[0].stylize(STYLES.get(status, "bold green"), 0, len(label.rstrip()))
    return Section(lines, [])


def told(report: Report, page: Page) -> str:
    """Return what these lines say: whole sentences, the most important first, and a word on every fault. A cause
    follows any doubt about it, however long the doubt is."""
    said = _sentences(report)
    least = min(len(said), 1 + bool(report.verdict.doubt))
    for kept in range(len(said), least - 1, -1):
        text = " ".join(said[:kept])
        also = _unnamed(report, text)
        if not also and kept > least and not page.full and not _fits(report, text, page, _calm_lines(report)):
            continue
        for tail in _also(also, bool(text))[: None if kept == least else 2]:
            whole = f"{text} {tail}".strip()
            if page.full or _fits(report, whole, page):
                return whole
    return _cut(report, said[0] if said else "", page)


def _calm_lines(report: Report) -> Mapping[str, int]:
    """Return how many lines may tell that nothing is wrong: one more where one thread computes all the time, as nobody
    knows then whether it should."""
    first = next(iter(report.findings), None)
    busy = first is not None and first.mechanism == Mechanism.ONE_THREAD.value
    return {**_CALM_LINES, OK: _CALM_LINES[OK] + busy}


def _cut(report: Report, sentence: str, page: Page) -> str:
    """Return a sentence that is cut so that the text after it has room."""
    if not _unnamed(report, sentence):
        return sentence
    for room in range(_limit(page) * page.width, 10, -10):
        cut = clip(sentence, room)
        text = f"{cut} {_also(_unnamed(report, cut), bool(cut))[-1]}".strip()
        if _fits(report, text, page):
            return text
    return _also(_unnamed(report, ""), False)[-1]


def _sentences(report: Report) -> list[str]:
    """Return the sentences of the verdict; if it names none of the faults, only these."""
    verdict = report.verdict
    said = [*verdict.sentences]
    found, text = [each for _, each in faults(report)], " ".join(said)
    if found and verdict.kind == Kind.PROFILE.value and not any(names(text, each) for each in found):
        said = []
    if verdict.status in (*FAULTS, BUSY, CANNOT_TELL) and report.answered:  # the first line says so already
        said = [each for each in said if each != verdict.of_all]
    if verdict.status in FAULTLESS:  # that an objective was kept was asked for
        kept = [check.text for check in report.checked if check.id == SLO_BREACH][:1]
        said = [*(f"{text[:1].upper()}{text[1:]}." for text in kept), *said]
    if said and verdict.status == CANNOT_TELL:  # the label says so already
        rest = _CANNOT.sub("", said[0]).strip()
        said[0] = f"{rest[:1].upper()}{rest[1:]}"
    return said


def _unnamed(report: Report, text: str) -> list[Finding]:
    """Return the faults that a text names neither in words nor by id."""
    if report.verdict.status not in FAULTS:
        return []
    return [each for _, each in faults(report) if not names(text, each)]


def names(text: str, finding: Finding) -> bool:
    """Return whether a text names a finding by its headline or its id."""
    return finding.shown in text or says(text, finding)


def says(text: str, finding: Finding) -> bool:
    """Return whether a text already has the headline of a finding."""
    return _printed(finding.headline, text)


def _printed(words: str, text: str) -> bool:
    return bool(words) and words in text


def _also(also: Sequence[Finding], behind: bool) -> list[str]:
    """Return ways to name further faults, the longest first; `behind` other words."""
    if not also:
        return [""]
    headlines = " ".join(f"{each.headline}." for each in also)
    # What takes most stands in words as long as there is room: an id alone tells a reader little.
    rest = ", ".join(_more(also))
    first = f"{also[0].headline}; {rest}." if rest else headlines
    ids = ", ".join(dict.fromkeys(each.shown for each in also))
    if not behind:
        return [headlines, first, f"{ids}.", f"{plural(len(also), 'finding')} below."]
    return [f"Also: {headlines}", f"Also: {first}", f"Also: {ids}.", f"And {plural(len(also), 'more finding')}."]


def _more(also: Sequence[Finding]) -> list[str]:
    """Return the ids of all findings but the first; of its own id how many more there are."""
    first, counts = also[0].shown, Counter(each.shown for each in also[1:])
    return [f"{number} more {shown}" if shown == first else shown for shown, number in counts.items()]


def _fits(report: Report, text: str, page: Page, lines: Mapping[str, int] = MappingProxyType({})) -> bool:
    status = report.verdict.status
    label = f"{_LABELS.get(status, 'PROBLEM'):<7}  "
    return len(page.wrapped(text, first=label, rest=_rest(label))) <= lines.get(status, _limit(page))


def _limit(page: Page) -> int:
    return ceil(LINES * COLUMNS / page.width) if page.width < COLUMNS else LINES


def _rest(label: str) -> str:
    return " " * len(label)


def fix(report: Report, page: Page) -> Section:
    """Return the first remedy of every fault, with their numbers; if the cause is unknown, that of the fault that is
    known, and what would show the cause; of a target without a fault, what makes most of its time shorter."""
    if report.verdict.status not in (*FAULTS, CANNOT_TELL):
        return Section(_faster(report, page), [], gap=False, tail=_tells(report, page))
    remedied = [(number, each) for number, each in to_mend(report) if each.remedy and is_remedied(report, each)]
    causes = [(number, each) for number, each in remedied if each.mechanism != Mechanism.MISSED.value]
    remedied = remedied if page.full else causes or remedied  # of a missed objective the remedy is that of its cause
    several = len(remedied) > 1
    blocks: list[Block] = []
    alike = groups_by_key((each.remedy[0].text, (number, each)) for number, each in remedied)
    for place, found in enumerate(alike.values()):
        begin = f"{_numbers([number for number, _ in found])}  " if several else ""
        label = "FIX      " if not place else _INDENT
        rank = 1 + 2 * place if place < _FIXES else 90 + place
        lines = remedy_lines(found[0][1].remedy[0], page, label + begin)
        seconds = {remedy.text: remedy for _, each in found if (remedy := second_remedy(each, page))}
        blocks.append(
            [
                Chunk(lines, rank),
                *(Chunk(remedy_lines(each, page, f"{_INDENT}or "), ESSENTIAL + place) for each in seconds.values()),
            ]
        )

    def fold(hidden: Sequence[int]) -> list[Text]:
        return [page.line(f"{_INDENT}and {len(hidden)} more: --full")]

    return Section([], blocks, fold, _tells(report, page), gap=False)


def _numbers(numbers: Sequence[int]) -> str:
    """Return "1", "1, 3", or "1-10" of many that follow each other."""
    follow = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"{numbers[0]}-{numbers[-1]}" if follow else ", ".join(map(str, numbers))


def to_mend(report: Report) -> list[tuple[int, Finding]]:
    """Return the findings that FIX names, with their numbers."""
    return list(enumerate(_mended(report), 1))


def _mended(report: Report) -> list[Finding]:
    """Return the faults, and what is no fault, if the verdict names it and somebody would feel it: critical ones first,
    the others as the verdict names them; where it cannot tell the cause, what is known to be one stands first."""
    found = [each for each in report.findings if each.severity in FAULTS]
    if not found:
        return []
    order = report.verdict.ids if report.verdict.status in FAULTS else [each.id for each in found]
    least_ns = FELT * _whole_ns(report)
    larger = [
        each
        for each in report.findings
        if each.severity not in FAULTS and each.ns > least_ns and each.id in report.verdict.ids
    ]
    place = {id: order.index(id) for id in order}
    return sorted([*found, *larger], key=lambda each: (each.severity != CRITICAL, place.get(each.id, len(order))))


def _whole_ns(report: Report) -> int:
    return report.request_time.ns if report.request_time else report.busy_ns


def is_remedied(report: Report, fault: Finding) -> bool:
    """Return whether the remedy of a fault stands below the problem; if the cause is unknown, that of a known one."""
    if report.verdict.status == CANNOT_TELL:
        return fault.confidence != Confidence.LOW.value and says(" ".join(report.verdict.sentences), fault)
    return report.verdict.status in FAULTS


def can_be_faster(report: Report) -> Finding | None:
    """Return the finding that is most of the time, though it is no fault: somebody may want it faster."""
    first = next((each for each in report.findings if each.ns), None)
    if first is None or report.verdict.status not in (BUSY, OK):
        return None
    # Of requests the status tells whether somebody feels it: those that are answered at once leave no one busy.
    felt_ns = 0 if report.request_time and report.verdict.status == BUSY else FELT * report.window.duration_ns
    least = _FASTER_OF_REQUESTS if report.request_time else _FASTER
    most = first.ns >= least * _whole_ns(report) and first.ns >= felt_ns
    return first if most and first.remedy and first.id in report.verdict.ids else None


def _faster(report: Report, page: Page) -> list[Text]:
    first = can_be_faster(report)
    if first is None:
        return []
    set_so = any(first.id in each.findings for each in report.unusual_settings)  # one of two remedies undoes it
    also = second_remedy(first, page) if set_so else None
    return [
        *remedy_lines(first.remedy[0], page, "FASTER   "),
        *(remedy_lines(also, page, f"{_INDENT}or ") if also else []),
        *(_path(first, page) if report.verdict.status == OK else []),
    ]


def _path(finding: Finding, page: Page) -> list[Text]:
    """Return the path of calls to what takes most time, of a report that prints no findings."""
    paths = [each.text for each in finding.evidence if each.kind == CALLS]
    return [line for text in paths for line in page.wrapped(text, first=_INDENT, rest=f"{_INDENT}  ", limit=LINES)]


def second_remedy(finding: Finding, page: Page) -> Remedy | None:
    """Return the remedy that stands below the first one: a short one, because a cut command is another command. On a
    full page all stand with their finding."""
    remedies = [] if page.full else finding.remedy[1:2]
    short = (each for each in remedies if cell_len(each.text + each.undo + each.risk) <= _SECOND * COLUMNS)
    return next(short, None)


def remedy_lines(remedy: Remedy, page: Page, first: str) -> list[Text]:
    """Return the lines of a remedy, never cut: half a command is another command, and a trial needs its undo."""
    now = f" (now: {remedy.present_value})" if remedy.present_value else ""
    behind = [f"undo: {remedy.undo}{now}"] if remedy.undo else []
    behind += [f"risk: {remedy.risk}"] if remedy.risk else []
    whole = "   ".join([remedy.text, *behind])
    if behind and cell_len(first + whole) <= page.width:
        return [Text(first + whole)]
    rest = " " * len(first)
    lines = page.wrapped(remedy.text, first=first)
    for text in behind:
        lines += page.wrapped(text, first=rest, rest=f"{rest}      ")
    return lines


def _tells(report: Report, page: Page) -> list[Text]:
    """Return the commands that would show what is unknown."""
    return [line for each in report.verdict.tells for line in page.wrapped(each, first="TO TELL  ")]

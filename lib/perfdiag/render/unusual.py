"""Settings that are not the usual ones and bear on much of the time: what somebody may have set and forgotten."""

from perfdiag.common.units import duration
from perfdiag.render.labelled_lines import labelled_lines
from perfdiag.render.layout import Page, Section
from perfdiag.render.problem import faults
from perfdiag.report.contract import Report, UnusualSetting
from perfdiag.report.status import IDLE_WORD

_LABEL = "UNUSUAL  "
_SHOWN = 3


def unusual(report: Report, page: Page) -> Section:
    """Return them with what they do; on a short page none of an idle target, and none that the problem names."""
    if report.verdict.status == IDLE_WORD and not page.full:
        return Section([], [])
    above = {*report.verdict.ids, *(each.id for _, each in faults(report))} if not page.full else set()
    texts = [_told(each, page) for each in report.unusual_settings if above.isdisjoint(each.findings)]
    return labelled_lines(page, _LABEL, texts, _SHOWN, "more unusual setting", gap=False)


def _told(each: UnusualSetting, page: Page) -> str:
    more = f" (bears on {duration(each.ns)}; see {each.shown_by})" if page.full else ""
    return f"{each.text}: {each.effect}{more}"

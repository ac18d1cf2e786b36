"""What the kernel logged in the window: trouble that may be the cause, or tells more about it."""

from perfdiag.common.units import count
from perfdiag.render.labelled_lines import labelled_lines
from perfdiag.render.layout import Page, Section
from perfdiag.report.contract import KernelSaid, Report

_LABEL = "KERNEL LOG  "
_SHOWN = 3  # kinds of lines; a full page has all


def kernel_log(report: Report, page: Page) -> Section:
    """Return the lines, each kind once."""
    return labelled_lines(page, _LABEL, [_told(said) for said in report.kernel_log], _SHOWN, "more kind", " of trouble")


def _told(said: KernelSaid) -> str:
    return said.text if said.count == 1 else f"{said.text} ({count(said.count)} times)"

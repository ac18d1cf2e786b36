"""The heaviest stacks of the largest accounts, for the full report."""

from collections.abc import Sequence

from rich.text import Text

from perfdiag.common.units import count, duration, share
from perfdiag.render.layout import HEADING, Page, Section, apart
from perfdiag.report.contract import Report, Stack

_ACCOUNTS = 6
_OF_ACCOUNT = 3
_FRAMES = 10


def stacks(report: Report, page: Page) -> Section:
    """Return the calling functions, innermost first."""
    largest = dict.fromkeys(entry.account for entry in sorted(report.accounts, key=lambda entry: -entry.ns))
    known = {stack.account for stack in report.stacks}
    lines: list[Text] = []
    for account in [account for account in largest if account in known][:_ACCOUNTS]:
        same = [stack for stack in report.stacks if stack.account == account]
        for stack in same[:_OF_ACCOUNT]:
            lines += _stack(page, stack)
        if len(same) > _OF_ACCOUNT:
            lines.append(page.line(f"  {account}: {len(same) - _OF_ACCOUNT} more stacks: --json"))
    if not lines:
        return Section([], [])
    beside = '"?": scanned, may be left from an earlier call'
    return Section([Text(apart("STACKS  innermost first", beside, page.width), HEADING), *lines], [])


def _stack(page: Page, stack: Stack) -> list[Text]:
    object = f" ({stack.object})" if stack.object else ""
    lines = [
        page.line(f"  {stack.account}{object}: {share(stack.share)}, {duration(stack.ns)} in {count(stack.count)}")
    ]
    lines += _frames(page, "kernel", stack.kernel)
    lines += _frames(page, "script", stack.script)
    return lines + _frames(page, "user", [*stack.user, *(f"{name}?" for name in stack.callers)])


def _frames(page: Page, where: str, names: Sequence[str]) -> list[Text]:
    if not names:
        return []
    more = [f"{len(names) - _FRAMES} more"] if len(names) > _FRAMES else []
    return page.wrapped(" < ".join([*names[:_FRAMES], *more]), first=f"    {where:<6} ", rest=" " * 11)

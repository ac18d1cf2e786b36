"""The first lines of a report: the target, the window, the host, its requests, and the status."""

from rich.cells import cell_len
from rich.text import Text

from perfdiag.common.units import about_at_most, duration, give_or_take, known, plural
from perfdiag.model.coverage import databases
from perfdiag.render.layout import HEADING, Page, Section, clip, fit_on_one_line, pad
from perfdiag.report.contract import Application, Host, Report
from perfdiag.report.status import BUSY, CANNOT_TELL, CRITICAL, WARNING

STYLES = {CRITICAL: "bold red", WARNING: "bold yellow", CANNOT_TELL: "bold magenta", BUSY: "bold cyan"}
_GAP = "   "
_OF_SHARED = 10  # requests that a connection which carries several at once may have carried
_APPLICATIONS = {**databases.NAMES, "hotspot": "Java virtual machine"}


def head(report: Report, page: Page) -> Section:
    """Return one line, or two if it has no room, then what must be known before any number."""
    status = report.verdict.status
    lines = _first(_parts(report), Text(status.upper(), STYLES.get(status, "bold green")), page)
    notes = "; ".join(clip(note, 2 * page.width) for note in report.notes)
    lines += page.wrapped(notes, first="  ", rest="    ", limit=4) if notes else []
    return Section([*lines, *(_details(report, page) if page.full else [])], [], gap=False)


def _parts(report: Report) -> list[str]:
    target = report.target
    inside = f", {target.namespace_pid} in its namespace" if target.namespace_pid != target.pid else ""
    who = f"{target.comm} ({target.pid}{inside})" if target.pid else target.comm
    where = f" on {report.host.name}" if report.host.name else ""
    return [who, f"{duration(report.window.duration_ns)}{where}", *(_requests(report) or [_threads(report)])]


def _threads(report: Report) -> str:
    return plural(report.target.threads, "thread")


def _requests(report: Report) -> list[str]:
    """Return how many requests were answered, and how fast; a p99 only if there are enough, and neither where most may
    have been no requests."""
    answered = report.answered
    if answered is None:
        return []
    ports = {each.port for each in report.requests}
    where = next(iter(ports)) if len(ports) == 1 else ""
    on = f" on {':' if where.isdigit() else ''}{where}" if where else ""
    if report.few_timed:
        if answered.count < _OF_SHARED * sum(each.declined for each in report.requests):
            return [f"most requests{on} were not timed"]
        untimed = sum(each.untimed for each in report.requests)
        return [f"{plural(answered.count + untimed, 'message')}{on}, most of them perhaps no requests"]
    times = (("p50", answered.p50_ns), ("p99", answered.p99_ns))
    told = [f"{name} {about_at_most(ns, answered.max_ns)}" for name, ns in times if ns is not None]
    slowest = [] if answered.p99_ns is not None else [f"longest {duration(answered.max_ns)}"]
    return [plural(answered.count, "request") + give_or_take(answered.count_error) + on, _GAP.join([*told, *slowest])]


def _first(parts: list[str], status: Text, page: Page) -> list[Text]:
    """Return the parts in as few lines as possible, with the status at the right end of the first."""
    room = page.width - len(status.plain) - 2
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}{_GAP}{part}"
        if cell_len(longer) <= (room if len(lines) == 1 else page.width):
            lines[-1] = longer
        else:
            lines.append(f"  {part}")  # a name may take the whole first line
    first = Text(pad(lines[0], max(room, 1)), HEADING)
    first.append("  ")
    first.append_text(status)
    return [first, *(page.line(line, HEADING) for line in lines[1:])]


def _details(report: Report, page: Page) -> list[Text]:
    """Return time, machine and the whole command that would measure the same again."""
    host, start = report.host, report.window.start.replace("T", " ").replace("Z", " UTC")
    guest = f"{host.hypervisor} guest, " if host.hypervisor not in (None, "none") else ""
    text = f"{start}, {_threads(report)}, {guest}{known(host.cpus, 'CPU')}, {_kernel(host)}"
    command = report.target.command
    read = [line for each in report.target.applications for line in page.wrapped(_application(each), rest="    ")]
    if fit_on_one_line(f"  {command}", text, page.width):
        return [page.line(f"  {command}{_GAP}{text}"), *read]
    return [*page.wrapped(command, rest="    "), *page.wrapped(text, rest="    "), *read]


def _application(application: Application) -> str:
    """Return what was recognised, and how it was read; NOT MEASURED has what could not be."""
    name = f"{_APPLICATIONS.get(application.kind, application.kind)} {application.version}".rstrip()
    several = f" in {application.processes} processes" if application.processes > 1 else ""
    read = f"read from {application.means}" if application.means else f"not read: {application.lack}"
    return f"{name} ({application.pid}){several}: {read}"


def _kernel(host: Host) -> str:
    return f"Linux {host.kernel}" if host.kernel else "host not recorded"

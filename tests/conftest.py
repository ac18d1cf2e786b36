"""Rules for every test: tiers by folder, a time limit, and no skip that nobody sees.

A live test that this host should be able to run and that is skipped counts as failed.  A test that a sound host may
be unable to run (say, no btrfs in its kernel) says so beforehand: ``@pytest.mark.may_skip("btrfs in the kernel")``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "lib") not in sys.path:
    sys.path.insert(0, str(ROOT / "lib"))

LIMIT_SECONDS = {"unit": 60, "live": 180, "lab": 600, "packages": 300}
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000  # sched.h, sys/mount.h


def missing_for_live() -> str | None:
    """Return what this host lacks for the live tier, or None when live tests must run."""
    if os.geteuid() != 0:
        return "live tests need root"
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
    return None


def tier(path: Path) -> str:
    """Return the tier of a test: the folder below tests/ that it stands in."""
    for name in LIMIT_SECONDS:
        if path.is_relative_to(ROOT / "tests" / name):
            return name
    return "unit"


def refuse_empty_parameters(item: pytest.Item) -> None:
    """A pattern of files without a match, which pytest skips, is a unit test that cannot fail."""
    reasons = [str(mark.kwargs.get("reason")) for mark in item.iter_markers("skip")]
    if any("empty parameter set" in reason for reason in reasons):
        raise pytest.UsageError(f"{item.nodeid} has nothing to test: {', '.join(reasons)}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write golden files anew, do not compare")


def forget_who_started_us() -> None:
    """Undo what programs inherit: ignored and blocked signals, a liking of the OOM killer, root's PATH without sbin."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # these two Python itself ignores
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.geteuid() == 0:
        Path("/proc/self/oom_score_adj").write_text("0")
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def keep_mounts_to_ourselves() -> None:
    """What is mounted from here on goes with its last process: killed tests leave no dead file system behind."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
        error = os.strerror(ctypes.get_errno())
        print(f"mounts of the tests are seen by all of this host: {error}", file=sys.stderr)


def pytest_configure(config: pytest.Config) -> None:
    forget_who_started_us()
    if os.geteuid() == 0:
        keep_mounts_to_ourselves()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written anew."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anybody may enter.  Those above pytest's own are closed anew whenever another pytest starts."""
    with tempfile.TemporaryDirectory(prefix="perfdiag-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def home(open_folder: Path) -> Path:
    """A directory where every user may make files."""
    path = open_folder / "home"
    path.mkdir()
    path.chmod(0o777)
    return path


@pytest.fixture
def system(open_folder: Path) -> Path:
    """A directory of root's that everybody may read, as /etc."""
    path = open_folder / "system"
    path.mkdir()
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    lacking = missing_for_live()
    for item in items:
        name = tier(item.path)
        item.add_marker(getattr(pytest.mark, name))
        if name == "unit":
            refuse_empty_parameters(item)
        if name == "lab":
            item.add_marker(pytest.mark.quiet)
        if name == "live" and lacking:
            item.add_marker(pytest.mark.skip(reason=lacking))


def _time_out(signum: int, frame: FrameType | None) -> None:
    pytest.fail("the test took longer than its time limit")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    marker = item.get_closest_marker("timeout")
    seconds = marker.args[0] if marker else LIMIT_SECONDS[tier(item.path)]
    before = signal.signal(signal.SIGALRM, _time_out)
    signal.alarm(int(seconds))
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    left_s = signal.alarm(0)  # a time limit that ends here would end pytest
    try:
        report = yield
    finally:
        signal.alarm(left_s)
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = str(call.excinfo.value) if call.excinfo else "no reason given"
        if tier(item.path) == "live" and not missing_for_live() and not item.get_closest_marker("may_skip"):
            report.outcome = "failed"
            report.longrepr = f"skipped, but this host should run it: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    report = yield
    if report.outcome == "skipped":  # a module that skipped itself while it was imported
        path = Path(getattr(collector, "path", ROOT / "tests"))
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if tier(path) == "live" and not missing_for_live():
            report.outcome = "failed"
            report.longrepr = f"module skipped, but this host should run it: {reason}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skips: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        skips[reason.removeprefix("Skipped: ")] += 1
    terminalreporter.write_line(f"skipped: {skips.total()}")
    for reason, count in sorted(skips.items()):
        terminalreporter.write_line(f"  {count:3} x {reason}")

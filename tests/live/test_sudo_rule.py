"""The rule of sudo that perfdiag(8) prints: it lets a group measure processes, and gives it nothing else of root's."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live.support.fixtures import Start
from live.support.workload import ROOT, Workload
from unit.support.behind_sudo import instead_of

PROGRAM = str(ROOT / "build/bin/perfdiag")
GROUP = 54321
NOBODY, NOGROUP = 65534, 65534
Run = Callable[..., subprocess.CompletedProcess[str]]


def printed_rule() -> str:
    """Return the rule as the manual page shows it."""
    page = subprocess.run(
        ["mandoc", "-T", "ascii", ROOT / "man/perfdiag.8"], capture_output=True, text=True, check=True
    )
    plain = re.sub(".\b", "", page.stdout)
    found = re.search(r"^ *Cmnd_Alias PERFDIAG.*?^ *%operators ALL[^\n]*\n", plain, re.MULTILINE | re.DOTALL)
    assert found, "the page shows no rule"
    return found[0]


@pytest.fixture
def as_operator(open_folder: Path) -> Iterator[Callable[[str], Run]]:
    """Return what makes a rule the only one there is, and what then runs sudo as one of the group."""
    group = Path("/etc/group").read_text() + f"operators:x:{GROUP}:nobody\n"

    def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            ["sudo", "-n", *map(str, words)],
            user=NOBODY, group=NOGROUP, extra_groups=[GROUP], cwd="/", capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, **options,
        )  # fmt: skip

    def with_rule(rule: str) -> Run:
        sudoers.write_text(f"Defaults env_reset\n{rule.replace('/usr/local/bin/perfdiag', PROGRAM)}")
        subprocess.run(["visudo", "-c", "-q", "-f", sudoers], check=True)
        return run

    with instead_of("/etc/group", group, open_folder), instead_of("/etc/sudoers", "", open_folder) as sudoers:
        yield with_rule


@pytest.fixture
def spinner(start: Start) -> Iterator[Workload]:
    workload = start("spin", "--duration-ms", 60_000)
    workload.start()
    yield workload


def test_it_lets_the_group_measure(as_operator: Callable[[str], Run], spinner: Workload, home: Path) -> None:
    run, path = as_operator(printed_rule()), home / "x.rec"
    done = run(PROGRAM, "record", "-o", path, "--pid", spinner.pid, "--duration", "1")
    assert done.returncode == 0, done.stderr
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (NOBODY, NOGROUP, 0o600)
    done = run(PROGRAM, "latency", "--pid", spinner.pid, "--duration", "1")
    assert done.returncode == 0 and "TRUST  " in done.stdout, done.stderr


@pytest.mark.parametrize("way", ["{system}", "{home}/link"])
def test_it_makes_no_file_of_roots(
    as_operator: Callable[[str], Run], spinner: Workload, home: Path, system: Path, way: str
) -> None:
    """Whatever the user has in his environment, which sudo does not let through."""
    (home / "link").symlink_to(system)
    path = Path(way.format(system=system, home=home), "ld.so.preload")
    done = as_operator(printed_rule())(
        PROGRAM, "record", "-o", path, "--pid", spinner.pid, "--duration", "1",
        env={"PATH": "/usr/bin", "SUDO_UID": "0", "SUDO_GID": "0", "SUDO_USER": "root"},
    )  # fmt: skip
    assert done.returncode == 1 and f"error: cannot write {path}: Permission denied" in done.stderr, done.stderr
    assert not list(system.iterdir())


REFUSED = [
    "{perfdiag}|record|-o|{home}/x|--pid|{pid}|--duration|1|--|touch|{proof}",
    "{perfdiag}|record|-o|{home}/x|--pid|{pid}|--|touch|{proof}|--duration|1",
    "{perfdiag}|record|-o|{home}/x|--duration|1|--|touch|{proof}",
    "{perfdiag}|record|-o|{home}/x --pid 1 -- touch {proof}|--pid|{pid}|--duration|1",
    "{perfdiag}|latency|--pid|{pid}|--|touch|{proof}",
    "{perfdiag}|latency|--pid|{pid}\n|--|touch|{proof}",
    "{perfdiag}|latency|--|touch|{proof}",
    "{perfdiag}|latency|--pid|{pid}|--record|{proof}",
    "{perfdiag}|latency|--name|spin",
    "{perfdiag}|host|--since|1d",
    "{perfdiag}|report|/etc/shadow",
    "{perfdiag}",
    "SUDO_UID=0|{perfdiag}|record|-o|{proof}|--pid|{pid}|--duration|1",
    "-E|{perfdiag}|latency|--pid|{pid}|--duration|0",
    "{recorder}|--check",
    "touch|{proof}",
]


@pytest.mark.parametrize("line", REFUSED)
def test_it_gives_nothing_else(
    as_operator: Callable[[str], Run], spinner: Workload, home: Path, system: Path, line: str
) -> None:
    names = {"perfdiag": PROGRAM, "recorder": f"{PROGRAM}-recorder", "pid": spinner.pid, "proof": system / "proof"}
    words = [word.format(home=home, **names) for word in line.split("|")]
    done = as_operator(printed_rule())(*words)
    assert done.returncode == 1 and done.stderr.startswith("sudo: ") and not done.stdout, done.stderr
    assert not list(system.iterdir()) and not list(home.iterdir())


@pytest.mark.parametrize("line", ["latency --pid {pid}", "record|-o {path} --pid {pid} --duration 1"])
def test_words_that_are_one_are_no_options(
    as_operator: Callable[[str], Run], spinner: Workload, home: Path, line: str
) -> None:
    """Sudo compares all words as one line: what it takes for several must be nothing to perfdiag."""
    words = line.format(pid=spinner.pid, path=home / "x").split("|")
    done = as_operator(printed_rule())(PROGRAM, *words)
    assert done.returncode == 2 and "error: " in done.stderr, done.stderr
    assert not list(home.iterdir())


def test_wildcards_let_a_command_through(
    as_operator: Callable[[str], Run], spinner: Workload, home: Path, system: Path
) -> None:
    """What the page warns of is so; and the rule that looked narrow no longer makes files of root's by itself."""
    run = as_operator("nobody ALL = NOPASSWD: /usr/local/bin/perfdiag record --pid [0-9]* *\n")
    done = run(PROGRAM, "record", "--pid", spinner.pid, "-o", system / "ld.so.preload", "--duration", "1")
    assert done.returncode == 1 and "Permission denied" in done.stderr and not list(system.iterdir())
    run = as_operator("nobody ALL = NOPASSWD: /usr/local/bin/perfdiag record -o * --duration [0-9]*\n")
    done = run(PROGRAM, "record", "-o", home / "x", "--duration", "1", "--", "touch", system / "proof")
    assert done.returncode == 0, done.stderr
    assert (system / "proof").stat().st_uid == 0

"""Scripts of dtrace/ in a guest that has DTrace for Linux: what it takes, refuses and lists."""

from __future__ import annotations

import re

import pytest
from perfdiag.scripts import header

from lab.support.dtrace import DATA, SCRIPTS, listed
from lab.support.guest import Guest

pytestmark = [pytest.mark.dtrace, pytest.mark.long]

NAMES = sorted(path.stem for path in SCRIPTS.glob("*.d"))
MODULES = "kvm_amd nfs nfsv4"  # scripts may trace these
SMALL = ("dtrace:::", "io:::", "proc:::", "sched:::", "profile:::tick-1s")
LARGE = r"^((?:syscall|sdt|rawtp):[\w:-]+)"
ROW = re.compile(r" *\d+ ( *\S+) (.{17}) (.{33}) (\S+)")


@pytest.mark.parametrize("name", NAMES)
def test_it_compiles(name: str, guest: Guest) -> None:
    """What another system has is refused by one line; probes of a process are there when it is traced."""
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    told = header.parse(SCRIPTS / f"{name}.d")
    of_process = "-Z" if "$1:" in (SCRIPTS / f"{name}.d").read_text() else ""
    status, said = guest.try_run(f"dtrace {of_process} -e -s /lab/dtrace/{name}.d 1")
    if dict(told.systems)["Linux"].startswith("none: "):
        assert status == 1 and "does not match any probes" in said and said.count("\n") == 1
    else:
        assert (status, said) == (0, "")


@pytest.mark.parametrize(
    ("words", "told"), [("abc", "failed to resolve abc"), ("1 2 3", "extraneous argument '3'"), ("1.5", "incompatible")]
)
def test_wrong_arguments_are_refused(words: str, told: str, guest: Guest) -> None:
    status, said = guest.try_run(f"dtrace -s /lab/dtrace/runqlat.d {words}")
    assert status == 1 and told in said and said.count("\n") == 1


def test_listing(guest: Guest, update: bool) -> None:
    """The probes that tests/unit/test_dtrace.py looks for: all of some providers, of others those that scripts name."""
    guest.run(f"for module in {MODULES}; do modprobe $module; done")
    texts = [(SCRIPTS / f"{name}.d").read_text() for name in NAMES]
    named = sorted({probe for text in texts for probe in re.findall(LARGE, text, re.MULTILINE)})
    probes = " ".join(f"-n {probe}" for probe in (*named, *SMALL))
    rows = [ROW.fullmatch(line) for line in guest.run(f"dtrace -Z -l {probes}").splitlines()[1:]]
    found = sorted({tuple(part.strip() for part in row.groups()) for row in rows if row})
    path = DATA / "linux.txt"
    if update:
        source = f"# Source: dtrace -l, {guest.run('dtrace -V').partition(': ')[2]}, Linux {guest.release} of Debian\n"
        path.write_text(source + "".join("\t".join(row) + "\n" for row in found))
    assert found == listed(path)

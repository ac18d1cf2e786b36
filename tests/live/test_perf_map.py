"""A perf map belongs to the process as it sees itself: its own number, its own /tmp, its own root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unit.support.c_programs import build, compile_c

# Makes code at run time, says in its perf map what it is, and waits.
SOURCE = """
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	fprintf(map, "%lx 100 LazyCompile:*main /app.js:1\\n", (unsigned long)code);
	fclose(map);
	printf("%d %p\\n", getpid(), code);
	fflush(stdout);
	return read(0, path, 1) < 0;
}
"""


@pytest.fixture(scope="module")
def resolver() -> Path:
    return build("resolve", "plain")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    (folder / "machine.c").write_text(SOURCE)
    compile_c(["-O2", "-static", "-o", str(folder / "machine"), str(folder / "machine.c")])
    return folder / "machine"


@contextmanager
def running(command: list[str | Path]) -> Iterator[tuple[int, int, str]]:
    """Run a machine below `command`; yield its number here, its number there, and the address of its code."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        inner, address = process.stdout.readline().split()
        pid = process.pid
        while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            pid = int(children[0])
        yield pid, int(inner), address
        process.communicate()


def name(resolver: Path, pid: int, address: str) -> str:
    return subprocess.run([resolver, str(pid), address], capture_output=True, text=True, check=True).stdout.strip()


def test_in_namespaces_of_its_own(resolver: Path, machine: Path) -> None:
    script = 'mount -t tmpfs none /tmp && exec "$0"'
    program = Path("/var/tmp") / f"machine-{os.getpid()}"
    program.write_bytes(machine.read_bytes())
    program.chmod(0o755)
    try:
        command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, program]
        with running(command) as (pid, inner, address):
            assert inner == 1 and pid != 1
            assert not Path("/tmp/perf-1.map").exists()
            assert name(resolver, pid, address) == "LazyCompile:*main /app.js:1 (jit)"
    finally:
        program.unlink()


def test_a_link_does_not_lead_out_of_its_root(resolver: Path, machine: Path, tmp_path: Path) -> None:
    """In a container's root, /tmp -> /elsewhere means the container's /elsewhere, never the host's."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside, root / "tmp"):
        folder.mkdir()
    (root / "machine").write_bytes(machine.read_bytes())
    (root / "machine").chmod(0o755)
    with running(["chroot", root, "/machine"]) as (pid, inner, address):
        assert name(resolver, pid, address) == "LazyCompile:*main /app.js:1 (jit)"
        (root / "tmp" / f"perf-{inner}.map").rename(outside / f"perf-{inner}.map")
        (root / "tmp").rmdir()
        (root / "tmp").symlink_to(outside)
        assert (root / "tmp" / f"perf-{inner}.map").exists(), "on this side the link leads to it"
        assert name(resolver, pid, address) == f"{address} (anonymous)"


@pytest.mark.parametrize("what", ["a file of root", "a file of /proc", "a device"])
def test_what_is_mounted_over_it_is_not_read(what: str, resolver: Path, machine: Path, tmp_path: Path) -> None:
    """Whoever has a mount namespace of its own can put there what only root may open."""
    secret = tmp_path / "secret"
    secret.write_text("0 ffffffffffffffff SECRET\n")
    secret.chmod(0o600)
    program = Path("/var/tmp") / f"machine-{os.getpid()}"
    program.write_bytes(machine.read_bytes())
    program.chmod(0o755)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    command = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o mode=1777 none /tmp && exec "$@"', "sh"]
    try:
        with running([*command, *nobody, program]) as (pid, inner, address), secret.open() as opened:
            assert name(resolver, pid, address) == "LazyCompile:*main /app.js:1 (jit)"
            source = {"a file of root": "/tmp/secret", "a file of /proc": f"/proc/{pid}/maps", "a device": "/dev/zero"}
            script = 'umask 077; cat >/tmp/secret && exec mount --bind "$0" "$1"'
            inside = ["nsenter", "-t", str(pid), "--mount", "sh", "-c", script]
            subprocess.run([*inside, source[what], f"/tmp/perf-{inner}.map"], stdin=opened, check=True)
            run = subprocess.run([resolver, str(pid), address], capture_output=True, text=True, check=True)
            assert run.stdout == f"{address} (anonymous)\n"
            assert "perf map refused" in run.stderr, run.stderr
    finally:
        program.unlink()

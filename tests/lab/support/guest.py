"""One emulated machine with a stock kernel: it boots, runs shell scripts in turn, and is ended by its pid."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from live.support.recorder import RECORDER
from live.support.workload import ROOT, WORKLOADS
from unit.support.closing import Closing

LAB = ROOT / "build" / "lab"
SID = LAB / "sid"
HERE = Path(__file__).resolve().parents[1]

ROOT_DISK = "root.ext4"
DTRACE_DISK = "dtrace.ext4"
DTRACE_KERNEL = "6.12"  # as in build.sh
WITNESS_DISK = "witness.ext4"
BOOT_SECONDS = 240  # 15 on a quiet host
JOB_SECONDS = 150  # the guest ends a job itself after 120
CPUS = 2
SLOW_DISK_BYTES = 1 << 30


def kernels() -> list[str]:
    """Return the names of all kernels of the lab."""
    lines = (HERE / "kernels.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def impossible() -> str | None:
    """Return why no guest can be made on a machine like this, or None where it should work."""
    if os.uname().machine != "x86_64":
        return f"its kernels are for x86_64, this machine is {os.uname().machine}"
    if not Path("/etc/debian_version").exists() or not shutil.which("apt-get"):
        return "it is made of Debian packages, and this is no Debian system"
    if os.geteuid() != 0:
        return "it needs root"
    return None


def missing(kernel: str, disk: str = ROOT_DISK) -> str | None:
    """Return why a kernel or a disk (or what all guests need) is not there, or None if it is."""
    folder = LAB / "kernels" / kernel
    for reason in (LAB / "missing", folder / "missing", (LAB / disk).with_suffix(".missing")):
        if reason.exists():
            return reason.read_text().strip()
    if not shutil.which("qemu-system-x86_64"):
        return "no qemu-system-x86_64: see packages-lab.txt"
    return None if (folder / "release").exists() and (LAB / disk).exists() else f"not built: make lab KERNEL={kernel}"


def clock_options() -> list[str]:
    """Return how fast the clock of emulated CPUs is, which is that of this host's: kernels measure it while they boot,
    and where this host is busy then, a guest's second is up to a quarter off for ever.  Nothing where it is not known:
    where CPUs change their clock, the one that is shown is another."""
    shown = Path("/proc/cpuinfo").read_text()
    mhz = re.search(r"^cpu MHz\s*: (\d+)\.(\d{3})$", shown, re.MULTILINE)
    changes = "aperfmperf" in shown or Path("/sys/devices/system/cpu/cpu0/cpufreq").exists()
    return [f"tsc_early_khz={mhz[1]}{mhz[2]}"] if mhz and not changes else []


def command_line(kernel: str, folder: Path, *options: str, disk: str = ROOT_DISK) -> list[str]:
    """Return the command that boots a kernel from a disk of the lab; `folder` is /lab of the guest."""
    files = LAB / "kernels" / kernel
    words = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    # One thread for all CPUs: with several, one may trap on kernel code that another is patching, as attaching does.
    # Without the old timer chip: kernels measure the clock of the CPUs with it once, and where this host is busy then,
    # the guest's clock runs several times too fast for ever.  The HPET, that they take instead, is read with the clock.
    words += ["-machine", "q35,pit=off", "-accel", "tcg,thread=single", "-smp", str(CPUS), "-m", "2G"]
    # A model that has SVM, so that it can run guests of its own, and whose clocks acpi_cpufreq knows.
    words += ["-cpu", "EPYC", "-acpitable", f"file={LAB / 'states.aml'}", "-device", "pc-testdev"]
    words += ["-kernel", str(files / "vmlinuz"), "-initrd", str(files / "initrd")]
    # Without its word that it is reliable, some kernels leave the clock that needs no system call.
    append = ["console=ttyS0", "loglevel=5", "panic=-1", "mitigations=off", "tsc=reliable"]
    # The same addresses in all processes: what the emulator has translated of a library for one serves the others, and
    # a program starts in a quarter of the time, 8 ms instead of 32.
    append += ["norandmaps", *clock_options(), *options]
    words += ["-append", " ".join(append)]
    words += ["-drive", f"if=none,id=root,file={LAB / disk},format=raw,snapshot=on"]
    words += ["-device", "virtio-blk-pci,drive=root"]
    # /dev/vdb takes 4 MB a second, no more.
    words += ["-drive", f"if=none,id=slow,file={folder / 'slow.img'},format=raw,throttling.bps-write=4000000"]
    words += ["-device", "virtio-blk-pci,drive=slow"]
    shares = [("lab", folder, ""), ("modules", files / "lib/modules", ",readonly=on")]
    shares += [("sid", SID, ",readonly=on")] if SID.exists() else []  # mounted by who needs newer versions of tools
    for tag, path, extra in shares:
        words += ["-fsdev", f"local,id={tag},path={path},security_model=none{extra}"]
        words += ["-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
    return words


def prepare_folder(name: str) -> Path:
    """Make the folder of one boot: what the guest runs, and where it leaves what it has to say."""
    folder = LAB / "run" / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    shutil.copy(HERE / "guest" / "guest.sh", folder)
    with (folder / "slow.img").open("wb") as disk:
        disk.truncate(SLOW_DISK_BYTES)
    shutil.copy(RECORDER, folder / "bin" / "perfdiag-recorder")
    for path in WORKLOADS.iterdir():
        if os.access(path, os.X_OK) and path.is_file():
            shutil.copy(path, folder / "bin")
    for scripts in ("tools", "dtrace"):
        shutil.copytree(ROOT / scripts, folder / scripts)
    return folder


class Guest(Closing):
    """A guest that has booted by the time it is constructed; a context manager that leaves no machine behind."""

    def __init__(self, kernel: str, *options: str, machine: Sequence[str] = (), disk: str = ROOT_DISK) -> None:
        """Boot with `options` of the kernel, and `machine`, more of the emulator; {folder} is that of this boot."""
        own = [disk.partition(".")[0]] if disk != ROOT_DISK else []
        self.name = "-".join([kernel, *own, *(option.replace("=", "-") for option in options)])
        self.folder = prepare_folder(self.name)
        self.console = self.folder / "console.log"
        self._numbers = itertools.count(1)
        self._heard = b""
        words = ["setpriv", "--pdeathsig", "KILL"]  # it ends with the tests, however those end
        words += [
            *command_line(kernel, self.folder, *options, disk=disk),
            *(word.format(folder=self.folder) for word in machine),
        ]
        words += ["-serial", f"file:{self.console}", "-chardev", "stdio,id=jobs,signal=off", "-serial", "chardev:jobs"]
        with (self.folder / "qemu.log").open("wb") as log:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.folder)},  # for what is written to the disk of the guest
            )
        try:
            self.release = self._await("ready", BOOT_SECONDS)
        except BaseException:
            self.close()
            raise

    def _line(self, end: float) -> str:
        """Return the next line of the guest."""
        assert self.process.stdout
        while b"\n" not in self._heard:
            left = end - time.monotonic()
            found = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            data = os.read(self.process.stdout.fileno(), 4096) if found else b""
            if not data:
                why = f"has ended with status {self.process.wait()}" if found else "does not answer"
                raise RuntimeError(f"guest {self.name} {why}; the end of {self.console}:\n{self.said()}")
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _await(self, words: str, seconds: float) -> str:
        """Return what follows `words` in a line; others are answers to jobs that nobody awaits any longer."""
        end = time.monotonic() + seconds
        while True:
            line = self._line(end)
            if line.startswith(f"{words} "):
                return line.removeprefix(f"{words} ")

    def said(self) -> str:
        """Return the end of what its kernel said."""
        logs = [path.read_text(errors="replace") for path in (self.folder / "qemu.log", self.console) if path.exists()]
        return "\n".join("".join(logs).splitlines()[-30:])

    def try_run(self, script: str) -> tuple[int, str]:
        """Run a shell script to its end; return its status and what it wrote."""
        if self.process.poll() is not None:
            raise RuntimeError(f"guest {self.name} has ended before; see {self.console}")
        job = f"job-{next(self._numbers)}"
        (self.folder / f"{job}.sh").write_text(script)
        assert self.process.stdin
        try:
            self.process.stdin.write(f"{job}\n".encode())
            self.process.stdin.flush()
            status = int(self._await(f"done {job}", JOB_SECONDS))
        except BaseException:  # Ctrl-C too
            self.close()  # it may still be busy with this one
            raise
        return status, (self.folder / f"{job}.out").read_text(errors="replace")

    def run(self, script: str) -> str:
        """Run a shell script that must succeed, and return what it wrote."""
        status, said = self.try_run(f"set -e\n{script}")
        assert status == 0, f"status {status} in guest {self.name}:\n{script}\n{said[-2000:]}"
        return said.strip()

    def tidy(self, script: str) -> None:
        """Run a script that removes what others made, whatever its status; in a machine that has ended nothing is left.

        Never raises for the machine's sake: that would hide why things are removed, such as Ctrl-C.
        """
        if self.process.poll() is None:
            with contextlib.suppress(RuntimeError):
                self.try_run(script)

    def close(self) -> None:
        """End the machine, whatever it is doing: nothing of it is kept."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):  # the name of a job that it did not read any more
                    stream.close()


__all__ = [
    "CPUS",
    "DTRACE_DISK",
    "DTRACE_KERNEL",
    "LAB",
    "ROOT_DISK",
    "WITNESS_DISK",
    "Guest",
    "command_line",
    "impossible",
    "kernels",
    "missing",
    "prepare_folder",
]

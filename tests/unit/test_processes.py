"""What /proc/PID/status tells on kernels that do not say who is a kernel thread."""

from __future__ import annotations

import pytest
from perfdiag.capture import processes


def status(pid: int, parent: int, *lines: str, state: str = "S (sleeping)") -> str:
    own = ["Name:\tx", f"State:\t{state}", f"Tgid:\t{pid}", f"PPid:\t{parent}", f"NSpgid:\t{pid}\t1"]
    return "".join(f"{line}\n" for line in [*own, *lines])


@pytest.mark.parametrize(
    ("text", "kernel_thread"),
    [
        (status(9, 2, "Kthread:\t1"), True),
        (status(9, 2, "Kthread:\t0"), False),
        (status(2, 0), True),
        (status(9, 2), True),
        (status(9, 2, "VmSize:\t     8 kB"), False),  # pid 2 of a container is anybody
        (status(9, 2, state="Z (zombie)"), False),
        (status(9, 8), False),
    ],
)
def test_kernel_threads(monkeypatch: pytest.MonkeyPatch, text: str, kernel_thread: bool) -> None:
    pid = int(text.split("Tgid:\t")[1].split()[0])
    files = {f"/proc/{pid}/status": text, f"/proc/{pid}/comm": "a) \n b\n"}
    monkeypatch.setattr(processes, "_read", files.get)
    process = processes.read(pid)
    assert process and process.kernel_thread is kernel_thread
    assert (process.comm, process.group, process.state) == ("a) \n b", pid, text.split("State:\t")[1][0])


def test_an_empty_name_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_read", {"/proc/9/status": status(9, 8), "/proc/9/comm": "\n"}.get)
    process = processes.read(9)
    assert process and process.comm == "" and process.name == "(no name)"


def test_a_process_that_ends_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_read", {"/proc/9/comm": "x\n"}.get)
    assert processes.read(9) is None
    monkeypatch.setattr(processes, "_read", {"/proc/9/status": status(9, 8)}.get)
    assert processes.read(9) is None

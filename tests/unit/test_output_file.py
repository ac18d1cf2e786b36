"""The file of a recording: a child writes it, so that nobody else hangs with it; what came of that is told."""

from __future__ import annotations

import mmap
import os
import shlex
import signal
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from perfdiag.capture import file_writer, output_file
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.common.text import typed_path

from unit.support.house import RECORDING, begun
from unit.support.waiting import until


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


@pytest.fixture(autouse=True)
def _nobody_is_left() -> Iterator[None]:
    before = children()
    yield
    for child in children() - before:
        os.waitpid(child, 0)  # it was ended: does not return where it was not


def test_a_whole_recording(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    file = begun(path)
    for start in range(0, len(RECORDING), 1000):
        os.write(file.fd, RECORDING[start : start + 1000])
    assert file.check() == len(RECORDING)
    assert path.read_bytes() == RECORDING


def test_a_recording_that_stops_early(tmp_path: Path) -> None:
    file = begun(tmp_path / "x.rec")
    os.write(file.fd, RECORDING[:100])
    with pytest.raises(PerfdiagError, match="cut short after 100 bytes: the recorder ended before its end"):
        file.check()


def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    """The second one would empty it under the first one's hands, and both would say that all is well."""
    path = tmp_path / "x.rec"
    first = begun(path)
    os.write(first.fd, RECORDING)
    with pytest.raises(PerfdiagError, match="another perfdiag writes it"):
        output_file.create(str(path))
    assert first.check() == len(RECORDING) and path.read_bytes() == RECORDING


@pytest.mark.parametrize(
    ("meddle", "why"),
    [
        (lambda path: path.unlink(), "removed or replaced"),
        (lambda path: (path.unlink(), path.write_text("mine")), "removed or replaced"),
        (lambda path: os.truncate(path, 0), "another process wrote to it"),
    ],
    ids=["removed", "replaced", "emptied"],
)
def test_a_file_that_is_lost_is_told(tmp_path: Path, meddle: Callable[[Path], object], why: str) -> None:
    path = tmp_path / "x.rec"
    file = begun(path)
    os.write(file.fd, RECORDING)
    until(lambda: path.stat().st_size == len(RECORDING), "all is written")
    meddle(path)
    with pytest.raises(PerfdiagError, match=f"is lost: .*{why}"):
        file.check()


def test_a_file_without_a_name() -> None:
    with pytest.raises(UsageError, match="no name"):
        output_file.create("")


@pytest.mark.parametrize("heard", [True, False])
def test_its_writer_is_killed(heard: bool, tmp_path: Path) -> None:
    """By the OOM killer, which takes the processes of perfdiag first; before it was told to begin, or after."""
    before = children()
    path = tmp_path / "x.rec"
    file = output_file.create(str(path))
    (child,) = children() - before
    if heard:
        file.begin()
    else:
        os.kill(child, signal.SIGSTOP)
        file.begin()
    os.kill(child, signal.SIGKILL)
    with pytest.raises(PerfdiagError, match=r"nothing was written to .*: the process that writes it was killed"):
        file.check()
    assert not path.exists()


def test_its_writer_is_killed_in_the_middle(tmp_path: Path) -> None:
    path, before = tmp_path / "x.rec", children()
    file = begun(path)
    (child,) = children() - before
    os.write(file.fd, RECORDING[:1000])
    until(lambda: path.stat().st_size == 1000, "what came is written")
    os.kill(child, signal.SIGKILL)
    with pytest.raises(PerfdiagError, match="cut short: the process that writes it was killed"):
        file.check()
    assert path.stat().st_size == 1000


def test_a_recording_that_did_not_come_about(tmp_path: Path) -> None:
    """The file that was made for it goes; one that was there, or was put there meanwhile, stays."""
    made, there, replaced = (tmp_path / name for name in ("made", "there", "replaced"))
    there.write_text("old")
    files = [output_file.create(str(path)) for path in (made, there, replaced)]
    replaced.rename(tmp_path / "moved")
    replaced.write_text("another's")
    for file in files:
        os.write(file.fd, RECORDING)  # the exec of a command can fail when its recording has begun
        file.discard()
    assert not made.exists() and there.read_text() == "old" and replaced.read_text() == "another's"


def test_a_recording_of_which_nothing_came(tmp_path: Path) -> None:
    """Its recorder ended at once, or perfdiag itself was killed: the end of the pipe is all that the writer sees."""
    made, there = tmp_path / "made", tmp_path / "there"
    there.write_text("old")
    for path in (made, there):
        with pytest.raises(
            PerfdiagError, match=f"nothing was written to {path}: the recorder ended before its end"
        ) as caught:
            begun(path).check()
        assert caught.value.hint == "record again", "its file system had room"
    assert not made.exists() and there.read_text() == "old"


def test_what_was_never_begun_leaves_the_old_one(tmp_path: Path) -> None:
    """Perfdiag is killed before it says that the recording has come about, and the recorder has written already."""
    made, there = tmp_path / "made", tmp_path / "there"
    there.write_text("old")
    for path in (made, there):
        file = output_file.create(str(path))
        os.write(file.fd, RECORDING)
        with pytest.raises(PerfdiagError, match=f"nothing was written to {path}"):
            file.check()
    assert not made.exists() and there.read_text() == "old"


def test_a_recording_that_is_there_is_emptied_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    path.write_bytes(b"old" * len(RECORDING))
    file = begun(path)
    assert path.stat().st_size > len(RECORDING)
    os.write(file.fd, RECORDING)
    assert file.check() == len(RECORDING) and path.read_bytes() == RECORDING


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_of_a_terminal_do_not_cut_it(tmp_path: Path, number: signal.Signals) -> None:
    """They go to all processes of a terminal: the recorder then ends its recording, and that is written."""
    before = children()
    file = begun(tmp_path / "x.rec")
    (child,) = children() - before
    os.kill(child, number)
    os.write(file.fd, RECORDING)
    assert file.check() == len(RECORDING)


@dataclass(frozen=True)
class Gated:
    """The module os of a keeper whose file system does not answer to one `call` before the shared byte is set."""

    call: str
    gate: mmap.mmap

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._gated(real) if name == self.call else real

    def _gated(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(fd: int, *arguments: Any) -> Any:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                until(lambda: self.gate[0], "the file system answers")
            return real(fd, *arguments)

        return call


@pytest.mark.parametrize(
    ("call", "doing", "size", "said"),
    [
        ("write", file_writer.WRITING, 0, "0 bytes written, its file system has not answered for 0.2 s"),
        ("close", file_writer.CLOSING, len(RECORDING), f"all {len(RECORDING):,} bytes written, its file system has"),
    ],
    ids=["write", "close"],
)
def test_a_file_system_that_pauses_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, doing: int, size: int, said: str
) -> None:
    """NFS takes its time when a file is closed.  What is not known is not told as cut short, and its writer goes on."""
    gate, path, before = mmap.mmap(-1, 1), tmp_path / "x.rec", children()
    monkeypatch.setattr(output_file, "CLOSE_DEADLINE_S", 0.2)
    monkeypatch.setattr(file_writer, "os", Gated(call, gate))
    file = begun(path)
    (child,) = children() - before
    os.write(file.fd, RECORDING)
    end_pipe(file.fd)
    progress = file.keeper.progress
    until(lambda: (progress.doing, progress.size_bytes) == (doing, size), "its file system is asked")
    with pytest.raises(PerfdiagError, match=f"it is unknown whether {path} is complete: {said}") as caught:
        file.check()
    assert f"kill -KILL {child} " in (caught.value.hint or "")
    gate[0] = 1
    assert os.waitpid(child, 0)[1] == 0, "it ends by itself"
    assert path.read_bytes() == RECORDING


def end_pipe(fd: int) -> None:
    """Close an end of a pipe; its number goes on to stand for something."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd, inheritable=False)
    os.close(null)


def test_a_recorder_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the pipe still open: that is no fault of the file system, and when it goes on the file gets its rest."""
    path, before = tmp_path / "x.rec", children()
    monkeypatch.setattr(output_file, "CLOSE_DEADLINE_S", 0.2)
    file = begun(path)
    (child,) = children() - before
    progress = file.keeper.progress
    with open(os.dup(file.fd), "wb", buffering=0) as recorders:
        recorders.write(RECORDING[:100])
        until(lambda: (progress.doing, progress.size_bytes) == (file_writer.READING, 100), "what came is written")
        with pytest.raises(PerfdiagError, match=r"unknown .*: 100 bytes written, the recorder still holds it"):
            file.check(recorder_ended=False)
        recorders.write(RECORDING[100:])
    assert os.waitpid(child, 0)[1] == 0, "it ends by itself"
    assert path.read_bytes() == RECORDING


@pytest.mark.parametrize("size", [0, len(RECORDING)])
def test_a_writer_that_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """It says nothing itself; neither the recorder nor the file system is to blame."""
    path, before = tmp_path / "x.rec", children()
    monkeypatch.setattr(output_file, "CLOSE_DEADLINE_S", 0.2)
    file = begun(path)
    (child,) = children() - before
    os.write(file.fd, RECORDING[:size])
    until(lambda: path.stat().st_size == size, "what came is written")
    os.kill(child, signal.SIGSTOP)
    os.write(file.fd, RECORDING[size:])
    with pytest.raises(PerfdiagError, match=rf"unknown .*: {size:,} bytes written, its writer is stopped") as caught:
        file.check()
    assert (caught.value.hint or "").startswith(f"let it continue with kill -CONT {child};")
    os.kill(child, signal.SIGCONT)
    assert os.waitpid(child, 0)[1] == 0, "it ends by itself"
    assert path.read_bytes() == RECORDING


@pytest.mark.parametrize("closed", [True, False], ids=["closed to nobody", "open"])
@pytest.mark.parametrize("another", [True, False], ids=["another's", "nothing"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut short"])
def test_a_recording_that_is_renamed(open_folder: Path, closed: bool, another: bool, whole: bool) -> None:
    """Its path leads to another's file, or nowhere: neither is to be read for it."""
    open_folder.chmod(0o700 if closed else 0o755)
    path, moved = open_folder / "x.rec", open_folder / "moved\n.rec"
    file = begun(path)
    os.write(file.fd, RECORDING if whole else RECORDING[:100])
    path.rename(moved)
    if another:
        path.write_text("another's")
    with pytest.raises(PerfdiagError) as caught:
        file.check()
    said = str(caught.value)
    assert f"{path} does not lead there any more" in said and ("is cut short after 100 bytes" in said) == (not whole)
    assert (caught.value.hint or "").endswith(f"perfdiag report {typed_path(str(moved))}")
    assert moved.read_bytes() == (RECORDING if whole else RECORDING[:100])


def test_a_recording_whose_folder_is_another_by_now(open_folder: Path) -> None:
    """A link to the folder of the day."""
    for name in ("monday", "tuesday"):
        (open_folder / name).mkdir()
    today = open_folder / "today"
    today.symlink_to("monday")
    file = begun(today / "x.rec")
    os.write(file.fd, RECORDING)
    today.unlink()
    today.symlink_to("tuesday")
    (open_folder / "tuesday/x.rec").write_text("another's")
    with pytest.raises(PerfdiagError, match=f"the recording is now in {open_folder}/monday/x.rec; {today}/x.rec does"):
        file.check()


@pytest.mark.parametrize("name", ["-o", "--x", "- x", "it's; reboot", "a b"])
def test_how_to_read_it_can_be_pasted(open_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(open_folder)
    file = begun(Path(name))
    os.write(file.fd, RECORDING[:100])
    with pytest.raises(PerfdiagError, match="cut short after 100 bytes") as caught:
        file.check()
    assert caught.value.hint
    pasted = shlex.split(caught.value.hint.removeprefix("read what is there: perfdiag report "))
    assert len(pasted) == 1 and pasted[0][0] != "-" and Path(pasted[0]).resolve() == open_folder / name


@dataclass
class Slow:
    """A keeper's process that writes a byte at each look until `moves_s`, and tells its end at `ends_s`; its clock."""

    progress: file_writer.Progress
    moves_s: float
    ends_s: float
    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def is_stopped(self) -> bool:
        return False

    def receive(self, until_s: float) -> tuple[bytes, list[int]]:
        self.now = until_s
        self.progress.size_bytes += self.now < self.moves_s
        if self.now >= self.ends_s:
            return b"told", []
        raise TimeoutError


@pytest.mark.parametrize(
    ("moves_s", "ends_s", "said", "after_s"),
    [
        (28, 29, None, 29),
        (1, 5.5, None, 5.5),
        (4, 60, r"its file system has not answered for 5 s", 9),
        (60, 60, r"its file system is slow: not finished in 30 s", 30),
    ],
    ids=["moves", "pauses", "stands still", "never done"],
)
def test_what_moves_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, moves_s: float, ends_s: float, said: str | None, after_s: float
) -> None:
    progress = file_writer.Progress.shared()
    progress.doing = file_writer.WRITING
    slow = Slow(progress, moves_s, ends_s)
    monkeypatch.setattr(output_file, "time", SimpleNamespace(monotonic=slow.monotonic))
    waiting = output_file.Keeper(slow, progress, (0, 0))
    if said:
        with pytest.raises(TimeoutError, match=said):
            waiting.last_answer(recorder_ended=True)
    else:
        assert waiting.last_answer(recorder_ended=True) == b"told"
    assert slow.now == pytest.approx(after_s, abs=2 * output_file.LOOK_S)

"""OOM kills that are over: times, what a log cannot know, counters, and perfdiag host --since."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from perfdiag.capture.kernel_log import read_kernel_log
from perfdiag.common.errors import PerfdiagError, PermissionDenied
from perfdiag.facts import oom_counters, oom_log
from perfdiag.facts.kernel_log_clock import Clocks
from perfdiag.facts.oom.log_lines import Entry, entries
from perfdiag.facts.oom_counters import Counts, GroupCount
from perfdiag.facts.oom_log import Log
from perfdiag.render.past_oom_kills import lines
from perfdiag.report.contract.past_oom_kills import PastKills
from perfdiag.report.past_oom_kills import look_back

from conftest import ROOT
from unit.support.command_line import MAIN, run
from unit.support.oom import LOGS, NOW_NS, log

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
UPTIME = 10_000 * SECOND


def clocks(suspended_ns: int = 0, drift_ns: int = 0) -> Clocks:
    return Clocks(NOW_NS, UPTIME, UPTIME + drift_ns, UPTIME + suspended_ns)


def buffer(
    name: str, at_s: int, sequence: int = 0, before: tuple[Entry, ...] = (), after: tuple[Entry, ...] = ()
) -> Log:
    """Return a report as the kernel's own buffer has it, begun so many seconds after boot."""
    found = list(entries(log(name).split("\n"), NOW_NS))
    moved_ns = at_s * SECOND - (found[0].clock_ns or 0)
    moved = [
        Entry(entry.text, moved_ns + (entry.clock_ns or 0), None, "", sequence + len(before) + index)
        for index, entry in enumerate(found)
    ]
    return oom_log.log_of("/dev/kmsg", [*before, *moved, *after], own=True)


def looked(
    found: Log, since_ns: int = NOW_NS - HOUR, counts: Counts | None = None, now: Clocks | None = None
) -> PastKills:
    return look_back(found, counts, now or clocks(), since_ns, NOW_NS)


# Times


def test_the_time_of_day_is_told_from_the_clock_since_boot() -> None:
    found = looked(buffer("6.1/cgroup", at_s=9_000))
    assert [kill.realtime_ns for kill in found.kills] == [NOW_NS - 1000 * SECOND]
    assert found.kills[0].early_ns == 0 and not found.not_measured and found.outside == 0
    assert found.verdict == "1 OOM kill. Cause: cgroup limit of /tight. Ended: devour (pid 156)."


def test_kills_before_since_are_counted_not_told() -> None:
    found = looked(buffer("6.1/cgroup", at_s=2_000), since_ns=NOW_NS - HOUR)
    assert not found.kills and found.outside == 1 and found.in_log == 1
    assert found.verdict.startswith("No process was killed")


def test_suspends_make_times_before_them_doubtful_and_no_others() -> None:
    asleep = Entry("PM: suspend exit", 8_500 * SECOND, None, "", 0)
    before = looked(buffer("6.1/cgroup", at_s=8_000), now=clocks(suspended_ns=HOUR))
    assert before.kills[0].early_ns == 0  # the log has no suspend after it: it was exact
    early = buffer("6.1/cgroup", at_s=8_000, after=(asleep,))
    told = looked(early, since_ns=NOW_NS - 2 * HOUR, now=clocks(suspended_ns=HOUR))
    assert told.kills[0].early_ns == HOUR
    assert any("or up to 1.00 h earlier" in line.plain for line in lines(told))
    later = looked(buffer("6.1/cgroup", at_s=9_000, before=(asleep,)), now=clocks(suspended_ns=HOUR))
    assert later.kills[0].early_ns == 0


def test_a_clock_that_ntp_has_corrected_is_doubtful() -> None:
    assert looked(buffer("6.1/cgroup", at_s=9_000), now=clocks(drift_ns=30 * SECOND)).kills[0].early_ns == 3 * SECOND
    assert looked(buffer("6.1/cgroup", at_s=9_000), now=clocks(drift_ns=SECOND)).kills[0].early_ns == 0


# What cannot be known


def test_a_log_that_wrapped_says_so() -> None:
    found = looked(buffer("6.1/cgroup", at_s=9_000, sequence=700), since_ns=NOW_NS - HOUR)
    assert [item.what for item in found.not_measured] == ["kills before the log begins"]
    assert "overwritten" in found.not_measured[0].reason and "journalctl" in found.not_measured[0].fix
    assert "NOT MEASURED" in [line.plain for line in lines(found)]
    # The same log has no gap for who asks for less.
    assert not looked(buffer("6.1/cgroup", at_s=9_000, sequence=700), since_ns=NOW_NS - 900 * SECOND).not_measured


def test_before_the_boot_is_another_log() -> None:
    found = looked(buffer("6.1/cgroup", at_s=9_000), since_ns=NOW_NS - 4 * HOUR)
    assert [item.what for item in found.not_measured] == ["kills before the last boot"]
    assert "-b -1" in found.not_measured[0].fix


def test_nobody_killed_is_no_claim_where_the_log_wrapped() -> None:
    quiet = oom_log.log_of("/dev/kmsg", [Entry("hello", 9_999 * SECOND, None, "", 5_000)], own=True)
    assert looked(quiet).verdict == "No process was killed for lack of memory, as far as the log shows."
    empty = oom_log.log_of("/dev/kmsg", [], own=True)
    assert looked(empty).verdict.startswith("Cannot tell")


def test_a_log_without_dates_is_not_cut() -> None:
    found = looked(oom_log.saved_log(io.BytesIO(log("6.1/cgroup").encode()), "x", clocks()))
    assert found.kills[0].realtime_ns is None and found.kills[0].clock_ns == 9_607_141_000
    assert "leave none of them out" in found.not_measured[0].reason
    assert any("9.607 s after its boot" in line.plain for line in lines(found))


def test_counters_tell_what_the_log_lacks() -> None:
    counts = Counts(5, (GroupCount("/sys/fs/cgroup/tight", 3),))
    found = looked(buffer("6.1/cgroup", at_s=9_000), counts=counts)
    assert found.counted == 5 and found.in_log == 1
    assert [item.what for item in found.not_measured] == ["4 kills of the 5 that the kernel counts since boot"]
    told = "\n".join(line.plain for line in lines(found))
    assert "5 kills since boot" in told and "3 in /sys/fs/cgroup/tight" in told
    assert not looked(buffer("6.1/cgroup", at_s=9_000), counts=Counts(1, ())).not_measured
    unknown = looked(buffer("6.1/cgroup", at_s=9_000), counts=Counts(None, None))
    assert unknown.counted is None and unknown.groups is None
    assert [item.what for item in unknown.not_measured] == ["kills by control group"]


def test_counters_are_read_from_both_versions(tmp_path: Path) -> None:
    for path, text in {
        "v2/a/b/memory.events.local": "low 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 0\n",
        "v2/a/memory.events.local": "oom_kill 0\n",
        "v1/c/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n",
        "vmstat": "nr_free_pages 1\noom_kill 9\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "v2/loop").symlink_to(tmp_path / "v2")
    found = oom_counters.read((f"{tmp_path}/v2", f"{tmp_path}/v1", f"{tmp_path}/none"), f"{tmp_path}/vmstat")
    assert found.host == 9 and found.complete
    assert found.groups == (GroupCount(f"{tmp_path}/v1/c", 7), GroupCount(f"{tmp_path}/v2/a/b", 2))
    assert oom_counters.read((f"{tmp_path}/none",), f"{tmp_path}/none") == Counts(None, None)


def test_a_log_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PerfdiagError, match="No such file") as gone:
        read_kernel_log(f"{tmp_path}/kmsg")
    assert gone.value.exit_status == 1 and "--log" in str(gone.value.hint)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionDenied):
        read_kernel_log(f"{tmp_path}/kmsg")


def test_overwritten_records_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel says EPIPE where the reader was too slow, then goes on."""
    answers: list[bytes | OSError] = [b"6,1,5,-;a\n", BrokenPipeError(32, "Broken pipe"), b"6,9,7,-;b\n", b""]

    def read(fd: int, size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    (tmp_path / "kmsg").write_text("")
    monkeypatch.setattr(os, "read", read)
    records, overwritten = read_kernel_log(f"{tmp_path}/kmsg")
    monkeypatch.undo()
    found = oom_log.own_log(records, overwritten, clocks())
    assert overwritten and len(records) == 2 and found.first == Entry("a", 5_000, None, "", 1)
    assert "overwritten while" in looked(found).not_measured[0].reason


# The command


def test_a_report_of_a_saved_log() -> None:
    told = run("host", "--since", "1d", "--log", str(LOGS / "6.1/shared.txt"))
    assert told.returncode == 0 and not told.stderr
    assert "2 OOM kills. Cause: unreclaimable cache." in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 80
    assert "\x1b" not in told.stdout


def test_hostile_names_are_escaped() -> None:
    for name in ("6.1/hostile_name.kmsg", "6.1/hostile_name"):
        words = ("host", "--since", "1d", "--log", str(LOGS / f"{name}.txt"))
        told = run(*words).stdout
        assert "\x1b" not in told and "a) x\\n" in told
        (kill,) = json.loads(run(*words, "--json").stdout)["kills"]
        assert kill["asker"]["comm"] == kill["victims"][0]["comm"] == kill["tasks"][0]["comm"]
        assert kill["asker"]["comm"].startswith("a) x\\n") and kill["claim"].isprintable()


def test_the_document_is_that_of_the_page() -> None:
    told = run("host", "--since", "2026-11-21", "--log", str(LOGS / "7.2/fragmented.txt"), "--json", "--exit-code")
    assert told.returncode == 10
    document = json.loads(told.stdout)
    page = (ROOT / "man/perfdiag-host.8").read_text()
    fields = page[page.index(".SH FIELDS") : page.index(".SH EXAMPLES")]
    assert list(document) == list(PastKills.__struct_fields__)
    assert [line.removeprefix(".B ") for line in fields.split("\n") if line.startswith(".B ")] == list(document)
    (kill,) = document["kills"]
    assert kill["cause"] == "fragmentation" and kill["order"] == 2 and kill["memory"]["other"] > 700 << 20
    assert msgspec.json.decode(told.stdout, type=PastKills).kills[0].victims[0].comm == "devour"


def test_standard_input_is_a_log() -> None:
    words = [sys.executable, "-IB", MAIN, "host", "--since", "1d", "--log", "-"]
    told = subprocess.run(
        words, input=log("6.12/cgroup"), capture_output=True, text=True, timeout=30, check=True
    ).stdout
    assert "/tight reached its memory limit of 32.0 MiB" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--until", "1h"], 2, "--since is missing"),
        (["--since", "1h", "--duration", "5"], 2, "--since looks back"),
        (["--since", "1h", "--record", "file"], 2, "--since looks back"),
        (["--since", "soon"], 2, "'soon' is not a time such as 02:00"),
        (["--since", "25:00"], 2, "is not a time"),
        (["--since", "2026-02-30"], 2, "is not a time"),
        (["--since", "1h", "--until", "2h"], 2, "--until is before --since"),
        (["--since", "2099-01-01"], 2, "--since is in the future"),
        (["--since", "1h", "--log", "/nowhere"], 1, "cannot read /nowhere: No such file"),
        (["--since", "1h", "--log", "/"], 1, "cannot read /: Is a directory"),
    ],
)
def test_what_goes_wrong_is_said(arguments: list[str], status: int, said: str) -> None:
    told = run("host", *arguments)
    assert told.returncode == status and said in told.stderr and "HINT: " in told.stderr and not told.stdout


def readable(folder: Path, content: bytes) -> Path:
    """Write a log that anybody may read."""
    path = folder / "log"
    path.write_bytes(content)
    path.chmod(0o644)
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")
def test_root_opens_no_file_that_a_user_names(open_folder: Path) -> None:
    """It is opened as who asked, whom perfdiag becomes first: with sudo that user, else nobody."""
    path = readable(open_folder, b"[    1.000000] secret\n")
    path.chmod(0o600)
    words = ("host", "--since", "1d", "--log", str(path))
    told = run(*words)
    assert (told.returncode, told.stdout) == (1, "") and "Permission denied" in told.stderr
    assert "HINT: run it without sudo" in told.stderr
    os.chown(path, 1234, 1234)
    assert run(*words).returncode == 1
    assert run(*words, SUDO_UID="1234", SUDO_GID="1234").returncode == 0


def test_any_bytes_are_a_log_without_kills(open_folder: Path) -> None:
    path = readable(open_folder, bytes(range(256)) * 40)
    told = run("host", "--since", "1d", "--log", str(path))
    assert told.returncode == 1 and f"{path} has no line of a kernel log" in told.stderr
    assert not told.stdout


def test_lines_that_are_no_log_are_none_of_standard_input() -> None:
    words = [sys.executable, "-IB", MAIN, "host", "--since", "2d", "--log", "-"]
    told = subprocess.run(words, input="hello\n", capture_output=True, text=True, timeout=30, check=False)
    assert told.returncode == 1 and "standard input has no line of a kernel log" in told.stderr


def test_many_kills_are_folded() -> None:
    text = "\n".join(log("6.1/cgroup").replace("[    9.", f"[{100 * index}.") for index in range(1, 31))
    found = looked(oom_log.saved_log(io.BytesIO(text.encode()), "x", clocks()))
    short, full = ("\n".join(line.plain for line in lines(found, full=full)) for full in (False, True))
    assert len(found.kills) == 30 and "EARLIER, 25 kills (--full shows all)" in short and "and 20 before them" in short
    assert full.count("OOM-KILL") == 30 and short.count("OOM-KILL") == 5

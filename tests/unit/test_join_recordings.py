"""Two recordings become one report: which is which, and what cannot be joined."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from perfdiag.common.errors import RecordingError
from perfdiag.diagnosis.engine import diagnose
from perfdiag.facts.host_facts import Hypervisor
from perfdiag.model import builder as ledger
from perfdiag.model.guest.join_recordings import Source, join
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.render.terminal import lines

from conftest import ROOT
from unit.support import Builder
from unit.support.command_line import run
from unit.support.hosts import host as whole_host
from unit.support.joined import HLT, IOIO, guest, guest_builder, host, joined, later
from unit.support.judging import knowing
from unit.support.reports import made

S, MS = 1_000_000_000, 1_000_000


def refused(one: Model, other: Model) -> RecordingError:
    """Return why two recordings cannot be joined, whichever comes first."""
    said = []
    for pair in ((one, other), (other, one)):
        with pytest.raises(RecordingError) as raised:
            join(*(Source("one.rec" if model is one else "other.rec", model) for model in pair))
        assert raised.value.hint
        said.append(raised.value)
    assert str(said[0]) == str(said[1])
    return said[0]


def test_which_is_the_guest_is_told_by_content() -> None:
    inside, outside = guest(), host().model()
    for pair in ((inside, outside), (outside, inside)):
        model = join(*(Source("a.rec", each) for each in pair))
        assert model.header.targets[0].comm == "mover"
        assert model.host_side and model.host_side.model is outside and model.host_side.overlap_ns == 10 * S


def test_what_only_its_host_knows_is_measured_now() -> None:
    builder = guest_builder().fact("/cpuid/hypervisor", "KVMKVMKVM").fact("/proc/cpuinfo", "flags : hypervisor\n")
    model = builder.model()
    assert any("the host's side" in item.what for item in model.not_measured)
    assert not any("host" in item.what for item in joined(model, host().model()).not_measured)
    blind = joined(model, host().without("vm_device", "no kvm_pio").model())
    (missing,) = (item for item in blind.not_measured if "host" in item.what)
    assert missing.what.startswith("on its host: the devices") and missing.reason == "no kvm_pio"


def test_windows_that_have_nothing_in_common_are_refused() -> None:
    error = refused(later(guest(), "15 s"), host().model())
    assert "the host's ended 5.00 s before the other began" in str(error) and "date -u" in (error.hint or "")
    assert "the guest's ended" in str(refused(guest(), later(host().model(), "10 s")))
    side = joined(later(guest(), "9 s"), host().model()).host_side
    assert side and side.overlap_ns == S


def test_two_of_a_kind_are_refused() -> None:
    assert "both recordings are of programs that run guests" in str(refused(host().model(), host().model()))
    assert "neither recording" in str(refused(guest(), guest()))


def test_a_recording_from_no_guest_is_refused() -> None:
    metal = guest(hypervisor=Hypervisor("none", "the CPU has no hypervisor flag"))
    assert "no hypervisor flag" in str(refused(metal, host().model()))
    assert "does not say what it runs on" in str(refused(knowing(guest_builder().model()), host().model()))


def test_an_emulator_without_virtual_cpus_is_refused_with_its_reason() -> None:
    idle = Builder(comm="qemu-system-x86").thread("qemu", cpu_user="1 s")
    assert "one.rec: no virtual CPU was seen in it: KVM told of no entry" in str(refused(idle.model(), guest()))
    assert "the module kvm is not loaded" in str(
        refused(idle.without("vm", "the module kvm is not loaded").model(), guest())
    )


def test_more_than_one_guest_is_refused() -> None:
    two = host().thread("CPU 0/KVM", pid=77, vm_guest="1 s").model()
    error = refused(two, guest())
    assert "of 2 programs that run guests" in str(error) and "--pid 77" in (error.hint or "")
    error = refused(whole_host(host()), guest())
    assert "of the whole host" in str(error) and "--pid 4121" in (error.hint or "")


def test_the_report_shows_the_guest_as_its_host_saw_it() -> None:
    outside = host().vm_exit(IOIO, "1200 ms", 40_000, user=True, device="port:0x1f0", waiting="300 ms")
    outside.vm_exit(HLT, "50 ms", 5_000, halted="2 s", polled="30 ms")
    report = made(joined(guest(), outside.model()))
    side = report.host_side
    assert side and (side.comm, side.pid, side.virtual_cpus, side.wall_ns) == ("qemu-system-x86", 4121, 2, 20 * S)
    assert sum(each.ns for each in side.accounts) == side.wall_ns, "all time of the virtual CPUs"
    assert [(each.account, each.ns) for each in side.others] == [("disk.write", 2 * S)]
    disk, halts = side.exits
    assert (disk.reason, disk.emulated, disk.count, disk.away_ns) == ("IDE disk", True, 40_000, 1500 * MS)
    assert (halts.reason, halts.emulated, halts.polled_ns) == ("HLT", False, 30 * MS)
    assert side.findings[0].id == "KVM-EXIT-EMULATED-IO" and side.notes == []
    assert report.busy_ns == made(guest()).busy_ns, "nothing of the host is in the guest's books"
    text = "\n".join(line.plain for line in lines(report))
    assert len(text.splitlines()) <= 45
    text = " ".join(text.split())
    assert "SEEN FROM ITS HOST" in text and "IDE disk emulated 40,000, 1.50 s" in text and "polling 30.0 ms" in text
    assert report.verdict.status == "warning" and "KVM-EXIT-EMULATED-IO" in report.verdict.sentences[0]
    assert made(guest()).verdict.status == "ok"
    assert "both windows share 10.0 s" in text and "threads writing to disk 20 % 2.00 s" in text


def test_a_report_of_one_recording_has_no_such_section() -> None:
    report = made(guest())
    assert report.host_side is None
    assert "HOST" not in "\n".join(line.plain for line in lines(report, full=True))


def test_what_makes_it_doubtful_is_said_first() -> None:
    model = joined(later(guest(), "5 s"), host().thread("CPU 2/KVM", vm_halt="10 s").model())
    side = made(model).host_side
    assert side and side.virtual_cpus == 3
    assert "IS IT THIS GUEST? 2 CPUs here, 3 there" in side.notes[0] and "the windows differ" in side.notes[1]


def test_a_guest_whose_number_of_cpus_is_unknown() -> None:
    inside = guest()
    nobody_knows = msgspec.structs.replace(inside.header.host, cpus_online=None)
    inside = replace(inside, header=msgspec.structs.replace(inside.header, host=nobody_knows))
    side = made(joined(inside, host().model())).host_side
    assert side and "IS IT THIS GUEST? unknown number of CPUs here, 2 there" in side.notes[0]


def recorded(name: str) -> Model:
    """Return a recording that the lab made."""
    with gzip.open(ROOT / f"tests/data/incidents/{name}.jsonl.gz") as stream:
        return ledger.build(reader.read(stream))


def test_real_recordings_of_a_host_and_of_a_stranger_are_not_mixed() -> None:
    """The lab runs no perfdiag two levels deep: each is real, but they do not belong together, and that is told."""
    outside, inside = recorded("emulated-device.ide"), recorded("slow-disk.flush-50ms")
    assert "different times" in str(refused(outside, inside))
    moved_ns = outside.header.realtime_ns - inside.header.realtime_ns
    model = joined(later(inside, moved_ns), outside)
    side = made(model).host_side
    assert side and side.virtual_cpus == 1 and "IS IT THIS GUEST? 2 CPUs here, 1 there" in side.notes[0]
    disk = side.exits[0]
    assert (disk.reason, disk.emulated, disk.count) == ("IDE disk", True, 1500)
    assert sum(each.share for each in side.accounts) == pytest.approx(1, abs=0.01)
    alone, both = diagnose(inside), diagnose(model)
    assert [(each.id, each.claims) for each in alone.findings] == [(each.id, each.claims) for each in both.findings]


def test_names_of_the_host_are_made_harmless() -> None:
    outside = Builder(comm="qemu\x1b[2J", cpus=2).thread("a\x1b", vm_guest="1 s").thread("b", vm_guest="1 s")
    report = made(joined(guest(), outside.model()))
    assert report.host_side and "\x1b" not in report.host_side.comm
    assert "\x1b" not in "".join(line.plain for line in lines(report, full=True))


# The command line


def written(folder: Path) -> tuple[str, str]:
    """Write both recordings."""
    inside = guest_builder().fact("/cpuid/hypervisor", "KVMKVMKVM").fact("/proc/cpuinfo", "flags : hypervisor\n")
    paths = folder / "guest.rec", folder / "host.rec"
    for path, builder in zip(paths, (inside, host()), strict=True):
        path.write_bytes(builder.bytes())
    return str(paths[0]), str(paths[1])


def test_two_files_are_joined(tmp_path: Path) -> None:
    inside, outside = written(tmp_path)
    told = run("report", outside, inside, "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert document["target"]["comm"] == "mover" and document["host_side"]["pid"] == 4121
    assert run("report", inside, outside, "--json").stdout == told.stdout


def test_what_cannot_be_joined_is_one_line_and_a_hint(tmp_path: Path) -> None:
    inside, outside = written(tmp_path)
    torn = tmp_path / "torn.rec"
    torn.write_bytes(b"")
    for arguments, status, said in (
        ((inside, outside, str(torn)), 2, "3 files: report takes one recording"),
        ((inside, inside), 2, "the same file twice"),
        ((inside, str(torn)), 1, f"{torn}: the recording is empty"),
        ((inside, str(tmp_path / "no.rec")), 1, "no.rec: No such file"),
    ):
        told = run("report", *arguments)
        assert (told.returncode, told.stdout) == (status, "")
        first, second = told.stderr.splitlines()
        assert first.startswith("error: ") and said in first and second.startswith("HINT: ")

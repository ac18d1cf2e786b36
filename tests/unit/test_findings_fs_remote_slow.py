"""FS-REMOTE-SLOW: servers and daemons behind mounts."""

from __future__ import annotations

from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity

from unit.support import Builder
from unit.support.judging import check, finding, findings

ID, MOUNT, FUSE = "FS-REMOTE-SLOW", "mount:0:52", "mount:0:60"
MOUNTS = """\
30 1 0:52 / /srv rw - nfs4 nas1:/jobs rw
31 1 0:60 / /home/far rw - fuse.sshfs far: rw
"""


def served(durations: dict[str, int], object: str = MOUNT) -> Builder:
    builder = Builder().fact("/proc/100/mountinfo", MOUNTS)
    return builder.thread(cpu_user="2 s").row("remote.fs", object, durations=durations)


def test_slow_answers_are_a_fault_that_claims_the_waits() -> None:
    model = served({"80 ms": 50}).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {("remote.fs", MOUNT): 4_000_000_000}
    assert "mountstats" in found.remedies[0].text


def test_fast_answers_that_add_up_are_profile() -> None:
    found = finding(served({"300 us": 10_000}).model(), ID)
    assert found.severity is Severity.INFO
    assert "10,000 times" in found.claim and "round trips" in found.remedies[0].text


def test_a_few_slow_answers_among_many_fast_ones_decide_where_the_time_went() -> None:
    # 10,000 answers of 100 us are 1 s; three of 1 s are 3 s: the typical nanosecond was spent in a stall.
    found = finding(served({"100 us": 10_000, "1 s": 3}).model(), ID)
    assert found.severity is Severity.WARNING
    assert any("over 134 ms" in evidence.text for evidence in found.evidence)


def test_nearly_nothing_is_checked_and_fine() -> None:
    assert 0 < check(served({"15 ms": 1}).model(), ID).number < 0.01


def test_a_wait_over_the_whole_window_is_a_dead_server() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 ms")
        .thread("writer", open=("remote.fs", MOUNT, "9 s"))
        .row("remote.fs", MOUNT, "9 s")
        .model()
    )
    found = finding(model, ID)
    assert found.severity is Severity.CRITICAL and "dead" in found.claim


def test_a_look_up_by_name_is_of_the_only_mount_that_it_can_be_of() -> None:
    # open() tells no mount. NFS has its own accounts, "fusectl" serves no files.
    mounts = MOUNTS + "32 1 0:61 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
    builder = Builder().fact("/proc/100/mountinfo", mounts).thread(cpu_user="2 s")
    builder.row("remote.fs", "syscall:openat", durations={"9 ms": 500})
    found = finding(builder.model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "/home/far (fuse.sshfs)" in found.claim
    assert dict(found.claims) == {("remote.fs", "syscall:openat"): 4_500_000_000}


def test_a_look_up_by_name_is_of_none_where_there_are_two() -> None:
    builder = Builder().fact("/proc/100/mountinfo", MOUNTS + "32 1 0:62 / /home/near rw - fuse.sshfs near: rw\n")
    builder.thread(cpu_user="2 s").row("remote.fs", "syscall:openat", durations={"9 ms": 500})
    found = finding(builder.model(), ID)
    assert "sshfs" not in found.claim and "the mount is unknown" in found.limits


def test_opening_the_files_of_a_mount_and_reading_them_are_one_finding() -> None:
    builder = Builder().fact("/proc/100/mountinfo", MOUNTS).thread(cpu_user="2 s")
    builder.row("remote.fs", FUSE, durations={"9 ms": 100}).row("remote.fs", "syscall:openat", durations={"9 ms": 500})
    found = finding(builder.model(), ID)
    assert found.claims.keys() == {("remote.fs", FUSE), ("remote.fs", "syscall:openat")}


def test_each_mount_is_its_own_finding() -> None:
    builder = served({"80 ms": 50}).row("remote.fs", FUSE, durations={"20 ms": 100})
    found = findings(builder.model(), ID)
    assert [next(iter(each.claims))[1] for each in found] == [MOUNT, FUSE]
    assert "daemon" in found[1].remedies[0].text
    assert all(remedy.kind is RemedyKind.FIX for each in found for remedy in each.remedies)


def test_mounts_that_count_only_together_are_one_finding_that_names_the_largest() -> None:
    builder = Builder().fact("/proc/100/mountinfo", MOUNTS).thread(cpu_user="9 s")
    for number in range(5):
        builder.row("remote.fs", f"mount:0:{50 + number}", durations={"17 ms": 4 + (number == 2)})  # 0.7 % each
    found = finding(builder.model(), ID)
    assert len(found.claims) == 5 and sum(found.claims.values()) == 21 * 17_000_000
    assert "mountstats" in found.remedies[0].text


def test_the_small_mounts_beside_a_large_one_count_only_if_they_are_worth_it() -> None:
    builder = served({"80 ms": 50}).row("remote.fs", FUSE, durations={"17 ms": 2})
    builder.row("remote.fs", "mount:0:61", durations={"17 ms": 1})
    assert [dict(each.claims) for each in findings(builder.model(), ID)] == [{("remote.fs", MOUNT): 4_000_000_000}]
    builder.row("remote.fs", "mount:0:62", durations={"17 ms": 3})
    large, small = findings(builder.model(), ID)
    assert len(large.claims) == 1 and len(small.claims) == 3
    assert large.claims.keys().isdisjoint(small.claims)


def test_lost_records_lower_the_confidence() -> None:
    found = finding(served({"80 ms": 50}).lost(ring_buffer=20).model(), ID)
    assert found.confidence is Confidence.MEDIUM
    assert any("lost" in limit for limit in found.limits)


def test_a_mount_without_a_name_is_said() -> None:
    found = finding(served({"80 ms": 50}, object="").model(), ID)
    assert found.confidence is Confidence.MEDIUM


def test_the_daemon_of_a_mount_of_user_space_is_named_by_the_waits_it_ended() -> None:
    def remedy(tid: int, object: str = FUSE) -> str:
        builder = Builder().fact("/proc/100/mountinfo", MOUNTS).thread(cpu_user="2 s")
        builder.row("remote.fs", object, durations={"50 ms": 99}, waker_tid=tid, waker_count=1, waker_comm="sshfs")
        return finding(builder.model(), ID).remedies[0].text

    assert "900" in remedy(900) and "sshfs (900)" in remedy(900)
    assert (
        "-lname /dev/fuse" in remedy(100) and "--pid DAEMON" in remedy(100) and "--pid DAEMON" in remedy(0)
    )  # itself, or nobody known
    assert "900" not in remedy(900, MOUNT)  # behind NFS nobody of this host answers


def test_a_daemon_of_this_host_that_takes_its_time_is_not_fast() -> None:
    """squashfuse decompressed a megabyte for each read of 4 KiB, 1.5 ms each: "too many; it is fast"."""
    answers = {"durations": {"1.5 ms": 634}, "waker_tid": 700, "waker_count": 634, "waker_comm": "squashfuse"}
    builder = Builder().thread(cpu_user="100 ms").row("remote.fs", "mount:0:60", **answers)  # type: ignore[arg-type]
    found = finding(builder.fact("/proc/100/mountinfo", MOUNTS).model(), "FS-REMOTE-SLOW")
    assert found.severity is Severity.INFO and found.headline.startswith("634 answers of squashfuse (700) for ")
    assert found.remedies[0].text.startswith("diagnose the daemon of the mount, squashfuse (700)")
    soon = (
        Builder().thread(cpu_user="100 ms").row("remote.fs", "mount:0:60", **answers | {"durations": {"60 us": 9000}})
    )  # type: ignore[arg-type]
    assert "it is fast" in finding(soon.fact("/proc/100/mountinfo", MOUNTS).model(), "FS-REMOTE-SLOW").headline

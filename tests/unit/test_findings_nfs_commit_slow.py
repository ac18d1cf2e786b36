"""NFS-COMMIT-SLOW and NFS-METADATA-CHATTY: what a faster commit gives back, and the floor that stays."""

from __future__ import annotations

from dataclasses import replace

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity

from unit.support import Builder
from unit.support.judging import check, finding, silence
from unit.support.nfs import MOUNT, flush, mounted, rpc, served

ID, FLOOR = "NFS-COMMIT-SLOW", "NFS-METADATA-CHATTY"


def synced(each: str = "51 ms", count: int = 97, round_trip: str = "1 ms", lookups: int = 50) -> Builder:
    """Small files are written and synced: one FILE_SYNC WRITE each, and no COMMIT."""
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.commit", MOUNT, durations={each: count})
    rpc(builder, "WRITE", {each: count}, bytes=65_536)
    if lookups:
        rpc(builder, "LOOKUP", {round_trip: lookups})
    return flush(builder, {each: count}, writes=count, stable=count, bytes=65_536 * count)


def test_a_slow_server_is_a_fault_that_claims_all_but_the_round_trips() -> None:
    found = finding(synced().model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {("nfs.commit", MOUNT): 97 * 50_000_000}
    assert "nas1:/jobs on /srv" in found.claim and "beyond a round trip of 1.00 ms" in found.claim
    texts = [evidence.text for evidence in found.evidence]
    assert any("51.0 ms" in text for text in texts)
    assert any("FILE_SYNC" in text for text in texts)
    assert any("vers=4.2, hard" in text for text in texts)
    (trip,) = (evidence for evidence in found.evidence if "per round trip" in evidence.text)
    assert trip.error and "mean of 50 LOOKUP" in trip.text
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
    assert "on nas1" in found.remedies[0].text and "log device" in found.remedies[1].text
    assert found.returns == ""  # nearly all of it


def test_the_round_trips_of_commits_are_the_floor_which_is_profile() -> None:
    model = synced(count=140).model()
    floor = finding(model, FLOOR)
    assert floor.severity is Severity.INFO and dict(floor.claims) == {("nfs.commit", MOUNT): 140_000_000}
    settled = diagnose(model)
    assert [found.id for found in settled.findings][:1] == [ID]
    assert {FLOOR} <= {found.id for found in settled.findings}


def test_commits_as_fast_as_disks_are_profile() -> None:
    found = finding(synced("7 ms", 700).model(), ID)
    assert found.severity is Severity.INFO
    assert dict(found.claims) == {("nfs.commit", MOUNT): 700 * 6_000_000}


def test_nearly_nothing_is_checked_and_fine() -> None:
    assert 0 < check(synced("7 ms", 2).model(), ID).number < 0.01


def test_large_flushes_may_take_as_long_as_their_bytes() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.commit", MOUNT, durations={"400 ms": 10})
    rpc(builder, "WRITE", {"80 ms": 320}, bytes=1 << 20)
    rpc(builder, "COMMIT", {"300 ms": 10})
    rpc(builder, "GETATTR", {"1 ms": 50})
    flush(builder, {"400 ms": 10}, commits=10, writes=320, bytes=320 << 20)
    found = finding(builder.model(), ID)
    assert found.severity is Severity.INFO  # 32 MiB each: 336 ms at 100 MB/s
    # Of 400 ms the COMMIT took 299 ms beyond its round trip; the rest was bytes on their way.
    assert abs(found.claims["nfs.commit", MOUNT] - 2_990_000_000) < 1_000_000


def test_incident_3_gives_back_only_what_the_flush_takes() -> None:
    """A tree of 28,000 files is unpacked in 54 s; without any flush it takes 30 s, on a local disk 5.5 s."""
    files = 28_000
    builder = mounted(Builder(window="54 s")).thread(cpu_user="5500 ms")
    # Each file: OPEN, SETATTR and a FILE_SYNC WRITE that are flushed (285 us each), and two calls that are not.
    trip, made = 175_000, 175_000 + 285_000
    builder.row("nfs.metadata", MOUNT, durations={f"{made} ns": 2 * files, f"{trip} ns": 2 * files})
    builder.row("nfs.commit", MOUNT, durations={f"{made} ns": files})
    rpc(builder, "OPEN", {f"{made} ns": files})
    rpc(builder, "SETATTR", {f"{made} ns": files})
    rpc(builder, "WRITE", {f"{made} ns": files}, bytes=4096)
    rpc(builder, "ACCESS", {f"{trip} ns": files})
    rpc(builder, "CLOSE", {f"{trip} ns": files})
    flush(builder, {f"{made} ns": files}, writes=files, stable=files, bytes=4096 * files)
    settled = diagnose(builder.model())
    assert {found.id for found in settled.findings} >= {ID, FLOOR}
    commit = next(found for found in settled.findings if found.id == ID)
    floor = next(found for found in settled.findings if found.id == FLOOR)
    flushed_ns = 3 * 285_000 * files
    assert abs(commit.claimed_ns - flushed_ns) < 0.02 * flushed_ns  # 24 s: 54 -> 30, not 54 -> 5.5
    assert abs(floor.claimed_ns - 5 * trip * files) < 0.02 * 5 * trip * files
    assert "24.5 s" in commit.returns and "48.4 s" in commit.returns
    assert commit.severity is floor.severity is Severity.INFO


def test_the_server_is_this_host_and_says_itself_what_it_took() -> None:
    builder = served(served(synced(), {"49 ms": 97, "300 us": 50}), {"48 ms": 97}, "WRITE").device(
        "7:0", "flush", count=97, service="48 ms"
    )
    found = finding(builder.model(), ID)
    texts = [evidence.text for evidence in found.evidence]
    assert any("32.4 ms" in text for text in texts)
    assert any("48.0 ms" in text for text in texts)
    assert not any("device-mapper" in each for each in found.alternatives)


def test_disks_that_are_fast_are_no_cause_of_what_their_server_takes() -> None:
    builder = served(synced(), {"49 ms": 97, "300 us": 50}).device("7:0", "flush", count=97, service="1 ms")
    found = finding(builder.model(), ID)
    assert "flushes of 7:0 took 98.0 ms of nfsd's 4.77 s" in found.alternatives[0]


def test_what_another_host_asked_of_this_server_says_nothing() -> None:
    found = finding(served(synced(), {"49 ms": 9_999}).model(), ID)
    assert not any("its nfsd" in evidence.text for evidence in found.evidence)


def test_without_a_cheap_call_wire_and_server_are_not_told_apart() -> None:
    found = finding(synced(lookups=0).model(), ID)
    assert found.confidence is Confidence.MEDIUM and "round trip included" in found.claim
    assert any("no cheap call" in limit for limit in found.limits)
    assert dict(found.claims) == {("nfs.commit", MOUNT): 97 * 51_000_000}


def test_cheap_calls_since_the_mount_stand_in_for_those_of_the_window() -> None:
    builder = synced(lookups=0)
    stats = (
        "device nas1:/jobs mounted on /srv with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2\n"
        "\t     GETATTR: 100 100 0 9 9 0 200 210 0\n"
    )
    found = finding(builder.fact("/proc/self/mountstats", stats).model(), ID)
    assert dict(found.claims) == {("nfs.commit", MOUNT): 97 * 49_000_000}
    assert any("100 cheap calls since the mount" in evidence.text for evidence in found.evidence)


def test_calls_that_only_mountstats_counted_are_enough_for_a_mean() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.commit", MOUNT, durations={"51 ms": 97})
    stats = (
        "device nas1:/jobs mounted on /srv with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2\n"
        "\t       WRITE: {0} {0} 0 9 9 0 {1} {1} 0\n\t     GETATTR: {2} {2} 0 9 9 0 {2} {2} 0\n"
    )
    builder.fact("/proc/self/mountstats", stats.format(0, 0, 0), stats.format(97, 97 * 51, 60))
    found = finding(builder.model(), ID)
    assert dict(found.claims) == {("nfs.commit", MOUNT): 97 * 50_000_000}
    assert found.confidence is Confidence.MEDIUM and any("milliseconds" in limit for limit in found.limits)


def test_without_any_calls_the_waits_alone_speak() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.commit", MOUNT, durations={"51 ms": 97})
    found = finding(builder.without("nfs", "sunrpc is not loaded").model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert any("not counted" in limit for limit in found.limits)


def test_a_recording_that_was_cut_says_that_it_knows_no_mount() -> None:
    model = Builder().thread(cpu_user="1 s", nfs_commit=("5 s", 100)).cut().model()
    rowless = replace(model, rows=[])
    assert "unknown what" in silence(rowless, ID).reason


def test_lost_records_lower_the_confidence() -> None:
    found = finding(synced().lost(ring_buffer=50).model(), ID)
    assert found.confidence is Confidence.MEDIUM and any("lost" in limit for limit in found.limits)


def test_calls_that_found_no_room_lower_the_confidence() -> None:
    found = finding(synced().lost(rpc_full=5).model(), ID)
    assert found.confidence is Confidence.MEDIUM
    assert finding(synced().lost(names_full=5).model(), ID).confidence is Confidence.HIGH, "names are no calls"


def test_calls_of_others_are_said() -> None:
    builder = synced()
    rpc(builder, "COMMIT", {"51 ms": 900})
    assert finding(builder.model(), ID).limits


# The floor


def browsed(count: int = 10_000, options: str = "rw,vers=4.2,hard") -> Builder:
    builder = mounted(Builder(), options).thread(cpu_user="2 s")
    builder.row("nfs.metadata", MOUNT, durations={"300 us": count})
    return rpc(rpc(builder, "GETATTR", {"300 us": count * 2 // 3}), "LOOKUP", {"300 us": count // 3})


def test_fast_round_trips_that_add_up_are_profile() -> None:
    found = finding(browsed().model(), FLOOR)
    assert found.severity is Severity.INFO and "10,000 round trips of 300 us" in found.claim
    assert dict(found.claims) == {("nfs.metadata", MOUNT): 3_000_000_000}


def test_a_mount_that_forgets_what_it_knows_is_a_fault() -> None:
    forgetful = "rw,vers=3,acregmin=0,acregmax=0,acdirmin=0,acdirmax=0,hard"
    found = finding(browsed(options=forgetful).model(), FLOOR)
    assert found.severity is Severity.WARNING and "actimeo=0" in found.claim
    assert "noac" in finding(browsed(options=f"{forgetful},noac").model(), FLOOR).claim


def test_few_round_trips_are_checked_and_fine() -> None:
    assert 0 < check(browsed(50).model(), FLOOR).number < 0.01


def test_an_unknown_round_trip_is_no_floor() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.metadata", MOUNT, durations={"300 us": 10_000})
    assert silence(builder.model(), FLOOR)

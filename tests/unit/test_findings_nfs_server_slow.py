"""NFS-SERVER-SLOW, NFS-CLIENT-QUEUE, NFS-LOCK-SLOW and NFS-SYNC-MOUNT: where else time on NFS goes."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity

from unit.support import Builder
from unit.support.judging import check, finding, findings, silence
from unit.support.nfs import MOUNT, flush, mounted, rpc, served

SLOW, QUEUE, LOCK, SYNC = "NFS-SERVER-SLOW", "NFS-CLIENT-QUEUE", "NFS-LOCK-SLOW", "NFS-SYNC-MOUNT"
SERVER = "server:10.0.0.5"


def read(each: str = "40 ms", count: int = 100, round_trip: str = "400 us") -> Builder:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.read", MOUNT, durations={each: count})
    return rpc(rpc(builder, "READ", {each: count}), "GETATTR", {round_trip: 50})


def test_slow_reads_are_a_fault_of_the_server() -> None:
    found = finding(read().model(), SLOW)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {("nfs.read", MOUNT): 100 * 39_600_000}


def test_fast_reads_are_profile() -> None:
    found = finding(read("2 ms", 1_500).model(), SLOW)
    assert found.severity is Severity.INFO


def test_few_reads_are_checked_and_fine_with_the_round_trip() -> None:
    said = check(read("2 ms", 8).model(), SLOW)
    assert said.number < 0.01 and "400 us" in said.text


def test_a_far_server_is_slow_even_at_what_needs_no_disk() -> None:
    found = finding(read("21 ms", 200, round_trip="20 ms").model(), SLOW)
    assert found.severity is Severity.WARNING and "20.0 ms" in found.claim
    assert sum(found.claims.values()) == 200 * 21_000_000 and "ping nas1" in found.remedies[0].text
    assert findings(read("21 ms", 200, round_trip="20 ms").model(), "NFS-METADATA-CHATTY") == []


def test_what_is_asked_again_because_of_an_option_is_told_before_a_far_server() -> None:
    """1,200 GETATTR for 40 files of a mount with noac: the remedy was to ping the server."""
    builder = mounted(Builder(), "rw,vers=4.2,noac,hard").thread(cpu_user="1 s")
    builder.row("nfs.metadata", MOUNT, durations={"8 ms": 900})
    found = finding(rpc(builder, "GETATTR", {"8 ms": 900}).model(), SLOW)
    assert found.headline == "Calls to nas1:/jobs ask again what it has told, because of noac, each 8.00 ms"
    assert found.remedies[0].text.startswith("mount without noac")


def test_a_server_that_is_slow_is_told_before_what_is_asked_again() -> None:
    """The remedy was to mount without noac, though each call took 20 ms more than the round trip."""
    builder = mounted(Builder(), "rw,vers=4.2,noac,hard").thread(cpu_user="1 s")
    builder.row("nfs.metadata", MOUNT, durations={"40 ms": 90})
    found = finding(rpc(rpc(builder, "READDIR", {"40 ms": 90}), "GETATTR", {"500 us": 60}).model(), SLOW)
    assert found.headline == "nas1:/jobs answers slowly"


def test_the_way_to_a_server_on_this_host_is_told_from_the_server() -> None:
    way = served(read("21 ms", 200, round_trip="20 ms"), {"500 us": 250})
    assert "500 us" in finding(way.model(), SLOW).claim
    own = served(read("21 ms", 200, round_trip="20 ms"), {"19 ms": 250})
    assert "19 ms" in finding(own.model(), SLOW).claim


def test_a_server_on_this_host_without_a_free_thread_gets_more_of_them() -> None:
    """Its only thread stood in others' commits: the remedies were a ping, and its disk."""
    model = served(read("40 ms", 200, round_trip="38 ms"), {"34 ms": 250})
    model.fact("/proc/fs/nfsd/threads", "1\n")
    found = finding(model.model(), SLOW)
    assert found.headline == "This host's NFS server has 1 thread, 85 % busy, and calls wait for one"
    assert any("busy 85 % of the time" in each.text for each in found.evidence)
    raised = found.remedies[0]
    assert (raised.text, raised.undo) == ("echo 8 > /proc/fs/nfsd/threads", "echo 1 > /proc/fs/nfsd/threads")
    enough = served(read("40 ms", 200, round_trip="38 ms"), {"34 ms": 250})
    assert "thread" not in finding(enough.fact("/proc/fs/nfsd/threads", "8\n").model(), SLOW).headline
    alone = served(read("35 ms", 200), {"34 ms": 250})  # its disk is what takes long: nobody stands before it
    assert "thread" not in finding(alone.fact("/proc/fs/nfsd/threads", "1\n").model(), SLOW).headline


def test_slow_reads_beside_fast_look_ups_claim_the_reads_only() -> None:
    builder = read().row("nfs.metadata", MOUNT, durations={"600 us": 1_000})
    rpc(builder, "READDIR", {"600 us": 1_000})
    assert set(finding(builder.model(), SLOW).claims) == {("nfs.read", MOUNT)}


def test_a_server_that_is_gone_is_critical() -> None:
    builder = mounted(Builder()).thread("writer", open=("nfs.commit", MOUNT, "9 s")).row("nfs.commit", MOUNT, "9 s")
    found = finding(builder.model(), SLOW)
    assert found.severity is Severity.CRITICAL
    assert diagnose(builder.model()).findings[0].id == SLOW


def test_without_calls_slow_answers_are_found_by_their_waits() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.metadata", MOUNT, durations={"40 ms": 100})
    found = finding(builder.model(), SLOW)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert any("not counted" in limit for limit in found.limits)


def test_a_server_that_is_gone_for_a_while_does_not_commit_slowly() -> None:
    """A fail-over of 7 s was told as slow commits, with the remedy of a log device: one WRITE had waited."""
    builder = mounted(Builder(window="20 s")).thread(cpu_user="1 s")
    builder.row("nfs.commit", MOUNT, durations={"4 ms": 120, "13.9 s": 1})
    rpc(rpc(builder, "WRITE", {"4 ms": 120, "13.9 s": 1}), "GETATTR", {"400 us": 50})
    found = finding(builder.model(), SLOW)
    assert found.headline.startswith("The server of nas1:/jobs did not answer for up to 13.9 s")
    assert found.severity is Severity.WARNING and 13e9 < found.claims["nfs.commit", MOUNT] < 14e9
    assert "1 wait of 121" in found.claim and "fail-over" in found.remedies[0].text
    assert not findings(builder.model(), "NFS-COMMIT-SLOW")


def test_a_server_that_is_slow_at_many_calls_was_not_gone() -> None:
    for durations in ({"4 ms": 20, "2 s": 4}, {"100 ms": 40, "2 s": 3}):
        builder = mounted(Builder(window="20 s")).thread(cpu_user="1 s").row("nfs.read", MOUNT, durations=durations)
        found = finding(rpc(rpc(builder, "READ", durations), "GETATTR", {"400 us": 50}).model(), SLOW)
        assert "did not answer" not in found.headline


# The queue in this host


def queued(wait: str = "30 ms", wire: str = "1 ms", vers: str = "4.2", sends: str = "0", backlog: str = "0") -> Builder:
    builder = mounted(Builder(), f"rw,vers={vers},hard").thread(cpu_user="2 s")
    builder.row("nfs.read", MOUNT, durations={"31 ms": 100})
    rpc(rpc(builder, "READ", {wire: 100}, queue=wait), "GETATTR", {"400 us": 50})
    stats = (
        "device nas1:/jobs mounted on /srv with fstype nfs4 statvers=1.1\n\topts:\trw\n"
        "\txprt:\ttcp 965 1 2 0 0 {sends} 51 0 51 {backlog} 16 0 0\n"
    )
    begin, end = stats.format(sends=0, backlog=0), stats.format(sends=sends, backlog=backlog)
    return builder.fact("/proc/self/mountstats", begin, end)


def test_calls_that_queue_here_are_a_fault() -> None:
    found = finding(queued().model(), QUEUE)
    assert found.severity is Severity.WARNING and "30.0 ms" in found.claim
    assert 2_900_000_000 < found.claims["nfs.read", MOUNT] < 3_060_000_000


def test_what_the_queue_is_for_is_told_by_its_counters() -> None:
    builder = queued(vers="3", sends="150", backlog="900")
    builder.fact("/proc/sys/sunrpc/tcp_max_slot_table_entries", "16\n")
    found = finding(builder.model(), QUEUE)
    assert "tcp_max_slot_table_entries (now 16)" in found.remedies[0].text
    assert any("queue for a slot 6 calls" in evidence.text for evidence in found.evidence)
    assert "max_session_slots" in finding(queued(sends="150").model(), QUEUE).remedies[0].text


def test_the_queue_before_slow_answers_is_theirs() -> None:
    assert findings(queued("30 ms", wire="29 ms").model(), QUEUE) == []
    assert finding(queued("30 ms", wire="29 ms").model(), SLOW).severity is Severity.WARNING


def test_a_queue_much_longer_than_slow_answers_is_the_clients_limit() -> None:
    """Two slots for sixteen threads: 108 ms in the queue before answers of 14.6 ms were the server's."""
    model = queued("108 ms", wire="15 ms").model()
    found = finding(model, QUEUE)
    assert found.severity is Severity.WARNING and "108 ms" in found.claim
    assert found.claims["nfs.read", MOUNT] > 5 * finding(model, SLOW).claims["nfs.read", MOUNT]


def test_no_queue_is_checked_and_fine() -> None:
    assert check(read().model(), QUEUE).number < 0.01


def test_a_queue_that_was_not_counted_is_not_known() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.read", MOUNT, durations={"40 ms": 100})
    assert silence(builder.model(), QUEUE)


# Locks


def locked(each: str, count: int, call: str, calls: int) -> Builder:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.lock", MOUNT, durations={each: count})
    return rpc(rpc(builder, "LOCK", {call: calls}), "GETATTR", {"400 us": 50})


def test_locks_that_somebody_else_has() -> None:
    found = finding(locked("1 s", 4, "500 us", 9).model(), LOCK)
    assert found.severity is Severity.WARNING
    assert "lslocks" in found.remedies[0].text


def test_locks_that_the_server_grants_slowly() -> None:
    found = finding(locked("40 ms", 100, "40 ms", 100).model(), LOCK)
    assert dict(found.claims) == {("nfs.lock", MOUNT): 100 * 39600000}


def test_fast_locks_are_round_trips() -> None:
    model = locked("420 us", 5_000, "420 us", 5_000).model()
    assert findings(model, LOCK) == []
    assert finding(model, "NFS-METADATA-CHATTY").claims["nfs.lock", MOUNT] == 2_000_000_000


def test_locks_of_nfs_3_belong_to_the_server() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.lock", MOUNT, durations={"40 ms": 100})
    rpc(builder, "LOCK", {"40 ms": 100}, object=SERVER, program="nlm")
    found = finding(builder.model(), LOCK)
    assert any("100 nlm.LOCK" in evidence.text for evidence in found.evidence)


def test_a_thread_that_still_waits_for_a_lock_is_told() -> None:
    builder = mounted(Builder()).thread(cpu_user="1 s", open=("nfs.lock", MOUNT, "8 s")).row("nfs.lock", MOUNT, "8 s")
    assert finding(builder.model(), LOCK)
    assert findings(builder.model(), SLOW) == []


def test_locks_of_a_recording_without_calls_are_judged_by_their_waits() -> None:
    builder = mounted(Builder()).thread(cpu_user="2 s").row("nfs.lock", MOUNT, durations={"40 ms": 100})
    assert finding(builder.model(), LOCK).confidence is Confidence.MEDIUM


# Mounts on which each write waits


def written(options: str = "rw,sync,vers=3,hard,noac", each: str = "12 ms", count: int = 300) -> Builder:
    builder = mounted(Builder(), options).thread(cpu_user="2 s").row("nfs.write", MOUNT, durations={each: count})
    rpc(rpc(builder, "WRITE", {each: count}, bytes=4096), "GETATTR", {"400 us": 50})
    return flush(builder, {each: count}, writes=count, stable=count, bytes=4096 * count, cause="write")


def test_a_sync_mount_is_a_fault_that_claims_its_writes() -> None:
    found = finding(written().model(), SYNC)
    assert found.severity is Severity.WARNING
    assert dict(found.claims) == {("nfs.write", MOUNT): 300 * 12_000_000}
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX, RemedyKind.RISKY]
    assert "fsync" in found.remedies[1].risk and "clients" in found.remedies[1].risk
    assert diagnose(written().model()).findings[0].id == SYNC


def test_the_same_writes_on_another_mount_are_the_servers() -> None:
    model = written("rw,vers=3,hard").model()
    assert findings(model, SYNC) == []
    assert finding(model, "NFS-COMMIT-SLOW").claims["nfs.write", MOUNT] == 300 * 11_600_000


def test_a_sync_mount_that_is_hardly_written_is_fine() -> None:
    assert check(written(count=3).model(), SYNC).number < 0.05


def test_lost_records_lower_the_confidence_of_all() -> None:
    for builder, id in ((read(), SLOW), (queued(), QUEUE), (locked("1 s", 4, "500 us", 9), LOCK), (written(), SYNC)):
        found = finding(builder.lost(ring_buffer=60).model(), id)
        assert found.confidence is Confidence.MEDIUM, id


# What was not measured


def test_nfs_that_is_mounted_in_the_window_was_not_measured() -> None:
    def missing(options: str | None, reason: str = "the module nfs is not loaded", late: bool = False) -> list[str]:
        builder = Builder().thread(cpu_user="1 s")
        stats = "device nas1:/jobs mounted on /srv with fstype nfs4 statvers=1.1\n\topts:\trw\n"
        if options is None:
            builder.fact("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
        else:
            mounted(builder, options)
        builder.fact("/proc/self/mountstats", "\n", stats if late else "\n")
        for feature in ("nfs", "nfsd"):
            builder.probe(feature, reason)
        return [item.feature for item in builder.model().not_measured]

    assert missing(None) == []  # a host without NFS misses nothing
    assert missing("rw,vers=4.2") == ["nfs"] == missing(None, late=True)
    assert missing(None, "no tracepoint rpc_stats_latency") == ["nfs", "nfsd"]


def test_a_recorder_that_knew_no_nfs_says_so() -> None:
    (item,) = mounted(Builder().thread(cpu_user="1 s")).model().not_measured
    assert item.feature == "nfs" and "knew no NFS" in item.reason


def test_what_this_host_serves_to_others_is_told() -> None:
    builder = served(served(Builder().thread(cpu_user="1 s"), {"30 ms": 500}), {"28 ms": 500}, "COMMIT")
    said = check(builder.model(), SLOW)
    assert "500" in said.text and "30 ms" in said.text
    assert said.large
    assert not check(served(Builder().thread(cpu_user="1 s"), {"200 us": 500}).model(), SLOW).large


def test_a_long_flush_of_many_calls_is_no_outage() -> None:
    """A close() that wrote 2,000 pieces of 9 ms beside fast look-ups was told as 18 s without an answer."""
    builder = mounted(Builder(window="40 s")).thread(cpu_user="1 s").row("nfs.commit", MOUNT, durations={"18 s": 1})
    builder.row("nfs.metadata", MOUNT, durations={"400 us": 900})
    builder = rpc(rpc(builder, "WRITE", {"9 ms": 2_000}), "GETATTR", {"400 us": 900})
    assert not any("did not answer" in each.headline for each in findings(builder.model(), SLOW))

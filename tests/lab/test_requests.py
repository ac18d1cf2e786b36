"""Who serves and who calls, on each kernel: accepted sockets keep the queue limit of the one that listens."""

from __future__ import annotations

from perfdiag.recording import schema

from live.support.fixtures import Record, Start


def test_requests_and_calls(start: Start, record: Record) -> None:
    """Before Linux 6.3, which has tracepoints for them, by the functions that these were put into."""
    recording, truth = record(start("peer", "--count", 23))
    reasons = {probe.reason for probe in recording.header.probes if probe.feature == "requests" and not probe.attached}
    found = {line.direction: line for line in recording.of(schema.Exchange)}
    assert not reasons
    assert set(found) == {"accepted", "connected"}, found
    # Linux 7.0 can preempt a program: until that goes on, the kernel leaves the next run of it on that CPU out.
    skipped = recording.footer.lost["programs_skipped"]
    counts = [line.count for line in found.values()]
    lost = {name: count for name, count in recording.footer.lost.items() if count}
    # The end of a function shows only calls that have begun since: not the read that the server waited in before.
    begun = {probe.hook for probe in recording.header.probes if probe.hook.startswith("fexit/inet_recvmsg")}
    assert max(counts) >= 23 - skipped // 2 and sum(counts) >= 2 * 23 - skipped - len(begun), (lost, counts)
    assert found["accepted"].object == f"port:{truth['port']}"
    assert found["connected"].object == f"peer:127.0.0.1:{truth['port']}"
    for line in found.values():
        assert line.count * 50_000_000 <= line.sum_ns <= truth["elapsed_ns"], (line, truth)

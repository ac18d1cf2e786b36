"""Who serves and who calls, on each kernel: accepted sockets keep the queue limit of the one that listens."""

from __future__ import annotations

import re

from perfdiag.recording import schema

from lab.support.guest import Guest
from live.support.fixtures import Record, Start

FIRST = (6, 3)  # with a tracepoint for what sockets send and receive


def test_requests_and_calls_or_the_reason_why_not(guest: Guest, start: Start, record: Record) -> None:
    recording, truth = record(start("peer", "--count", 23))
    reasons = {probe.reason for probe in recording.header.probes if probe.feature == "requests" and not probe.attached}
    found = {line.direction: line for line in recording.of(schema.Exchange)}
    release = re.match(r"(\d+)\.(\d+)", guest.release)
    assert release
    if (int(release[1]), int(release[2])) < FIRST:
        assert not found and not recording.of(schema.Latency)
        assert any("Linux 6.3" in reason for reason in reasons if reason), reasons
        return
    assert not reasons
    assert set(found) == {"accepted", "connected"}, found
    # Linux 7.0 can preempt a program: until that goes on, the kernel leaves the next run of it on that CPU out.
    skipped = recording.footer.lost["programs_skipped"]
    counts = [line.count for line in found.values()]
    lost = {name: count for name, count in recording.footer.lost.items() if count}
    assert max(counts) >= 23 - skipped // 2 and sum(counts) >= 2 * 23 - skipped, (lost, counts)
    assert found["accepted"].object == f"port:{truth['port']}"
    assert found["connected"].object == f"peer:127.0.0.1:{truth['port']}"
    for line in found.values():
        assert line.count * 50_000_000 <= line.sum_ns <= truth["elapsed_ns"], (line, truth)

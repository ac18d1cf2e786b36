"""What waits on NFS are made of, whatever calls were seen: the parts are never negative and make up all of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.nfs.wait_parts import NFS, uses

from unit.support import Builder
from unit.support.nfs import MOUNT, OPTIONS, flush, mounted, rpc

PROCEDURES = ["READ", "WRITE", "COMMIT", "GETATTR", "LOOKUP", "OPEN", "REMOVE", "LOCK", "LOCKU", "READDIR", "SEQUENCE"]
COUNTS = st.integers(1, 500)
TIMES = st.integers(0, 100_000_000).map(lambda ns: f"{ns} ns")


@st.composite
def recordings(draw: st.DrawFn) -> Builder:
    """Return waits for NFS of a second at most in each account, and calls that need not fit them."""
    builder = mounted(Builder(), draw(st.sampled_from([OPTIONS, "rw,sync,vers=3", "rw"])))
    builder.thread(cpu_user="1 s")
    for account in draw(st.lists(st.sampled_from(NFS), unique=True, min_size=1)):
        count = draw(COUNTS)
        builder.row(account, draw(st.sampled_from([MOUNT, ""])), draw(st.integers(1, 10**9)), count=count)
    for procedure in draw(st.lists(st.sampled_from(PROCEDURES), unique=True)):
        durations = draw(st.dictionaries(TIMES, COUNTS, min_size=1, max_size=3))
        rpc(builder, procedure, durations, queue=draw(TIMES), object=draw(st.sampled_from([MOUNT, "server:10.0.0.5"])))
    for cause in draw(st.lists(st.sampled_from(["fsync", "close", ""]), unique=True)):
        writes = draw(st.integers(0, 900))
        flush(
            builder,
            {draw(TIMES): draw(COUNTS)},
            commits=draw(st.integers(0, 900)),
            writes=writes,
            stable=draw(st.integers(0, writes)),
            bytes=draw(st.integers(0, 10**9)),
            cause=cause,
        )
    return builder


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_parts_are_all_of_the_time(builder: Builder) -> None:
    model = builder.model()
    for use in uses(model):
        for account in NFS:
            parts = use.parts(account)
            each = (parts.queue_ns, parts.trip_ns, parts.commit_ns, parts.answer_ns)
            assert all(ns >= -1 for ns in each), (account, parts)
            assert abs(sum(each) - use.ns(account)) <= 4, (account, parts)


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_rules_share_the_time_without_claiming_any_twice(builder: Builder) -> None:
    model = builder.model()
    settled = diagnose(model)
    assert not [silence for silence in settled.silences if "rule itself failed" in silence.reason]
    assert sum(found.claimed_ns for found in settled.findings) + settled.unclaimed_ns == model.busy_ns


def test_options_are_those_of_the_mount_that_was_waited_for() -> None:
    """Not of what got its number later; of two mounts of NFS that had it, it is not known whose waits they are."""
    line = "30 1 0:52 / /srv rw - {}\n"
    first = line.format("nfs4 nas1:/jobs rw,sync,vers=4.2")
    for later, source, options in (
        (first, "nas1:/jobs", {"sync", "vers"}),
        (line.format("tmpfs tmpfs rw,size=4k"), "nas1:/jobs", {"sync", "vers"}),
        (line.format("nfs4 nas2:/home rw,vers=4.1"), "", set()),
    ):
        builder = Builder().thread(cpu_user="1 s").fact("/proc/self/mountinfo", first, later)
        (use,) = uses(builder.row("nfs.write", MOUNT, 10**9, count=100).model())
        assert use.source == source and options == use.options.keys() - {"rw"}, (later, use)

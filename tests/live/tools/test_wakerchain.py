"""wakerchain.bt: whoever a thread waits for is named, and who woke that one before."""

from __future__ import annotations

from live.support.bpftrace import Seen, Stats
from live.support.fixtures import Start, Trace

COUNT = 23
SLEEP_MS = 20


def longest(seen: Seen) -> tuple[tuple[str, ...], Stats]:
    """Return the chain that a thread has slept by most, and its sleeps."""
    found = {key: value for key, value in seen.maps["@slept_ns"].items() if isinstance(value, Stats)}
    return max(found.items(), key=lambda row: row[1].total)


def test_a_chain_of_processes(start: Start, trace: Trace) -> None:
    """The first waits for the second, that one for the third, which sleeps."""
    chain = start("chain", "--depth", 2, "--count", COUNT, "--sleep-ms", SLEEP_MS)
    script = trace("wakerchain", chain)
    truth = chain.run()
    seen = script.stop(example=True)
    (thread, waker, tid, before, before_tid), slept = longest(seen)
    assert (thread, waker, before) == ("chain", "chain", "chain")
    assert len({int(tid), int(before_tid), chain.pid}) == 3 and int(tid) > 0
    assert COUNT - 1 <= slept.count <= COUNT  # the first one may end before the third process has woken the second
    assert (COUNT - 1) * SLEEP_MS * 1_000_000 <= slept.total <= truth["wait_ns"]
    assert sum(row.count for row in seen.maps["@slept_ns"].values() if isinstance(row, Stats)) <= truth["blocks"]
    assert seen.unseen == 0


def test_a_timer_is_no_thread(start: Start, trace: Trace) -> None:
    """The one who wakes the first process has slept itself."""
    chain = start("chain", "--depth", 1, "--count", COUNT, "--sleep-ms", SLEEP_MS)
    script = trace("wakerchain", chain)
    chain.run()
    (thread, waker, tid, before, before_tid), slept = longest(script.stop())
    assert (thread, waker, before, before_tid) == ("chain", "chain", "(timer)", "0")
    assert int(tid) not in (0, chain.pid) and slept.count >= COUNT - 1


def test_a_thread_that_its_own_timer_wakes(start: Start, trace: Trace) -> None:
    wake = start("wake", "--count", COUNT, "--every-us", 3000)
    script = trace("wakerchain", wake)
    wake.run()
    (thread, waker, tid, before, _), slept = longest(script.stop())
    assert (thread, waker, tid, before) == ("wake", "(timer)", "0", "")
    assert slept.count == COUNT and slept.total >= 0.9 * COUNT * 3_000_000


def test_a_peer_over_loopback(start: Start, trace: Trace) -> None:
    """Its packet is received in a softirq."""
    sender = start("send", "--bytes", 400_000)
    script = trace("wakerchain", sender)
    sender.run()
    assert longest(script.stop())[0][1:3] == ("(softirq)", "0")


def test_others_are_not_traced(start: Start, trace: Trace) -> None:
    script = trace("wakerchain", start("sleeper"))
    start("wake", "--count", COUNT).run()
    assert set(script.stop().maps) <= {"@unseen"}

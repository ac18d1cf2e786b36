"""oomwhy.bt: a process that takes more than its control group may have, and one that takes all of the host."""

from __future__ import annotations

from lab.support.guest import Guest
from lab.support.processes import GuestWorkload
from lab.test_oom import LIMIT_MIB, limited, protect
from live.support.fixtures import Cleanup, Start, Trace

KILLED = 137


def test_the_limit_of_a_group(guest: Guest, start: Start, trace: Trace, cleanup: Cleanup) -> None:
    group = cleanup.enter_context(limited(guest, "tight", LIMIT_MIB))
    target = start("devour", "--mebibytes", 2 * LIMIT_MIB, prepare=f"echo $pid >{group}/cgroup.procs")
    script = trace("oomwhy", target)
    target.start()
    assert isinstance(target, GuestWorkload) and target.end() == KILLED
    seen = script.stop(example=True)
    assert seen.number("@killed", "group", "tight") == 1
    assert (
        f" killed: {target.pid} devour, asked by: {target.pid} devour, for 1 page(s), limit: group tight" in seen.text
    )


def test_the_memory_of_the_host(guest: Guest, start: Start, trace: Trace, cleanup: Cleanup) -> None:
    """In pieces: much is free, but nowhere four pages together."""
    pipes = start("devour", "--mode", "pipes", "--mebibytes", 1400)
    script = trace("oomwhy")
    protect(guest, -1000)
    cleanup.callback(protect, guest, 0)
    guest.run(f"echo 0 >/proc/{pipes.pid}/oom_score_adj")
    pipes.start()
    assert isinstance(pipes, GuestWorkload) and pipes.end() == KILLED
    seen = script.stop()
    assert seen.number("@killed", "host") == 1
    assert f" killed: {pipes.pid} devour, " in seen.text and "for 4 page(s), limit: host" in seen.text

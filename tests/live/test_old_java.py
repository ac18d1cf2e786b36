"""Virtual machines of JDK 8 and 11: each stopped thread waits in an event of its own, and hands on the end."""

from __future__ import annotations

import re

import pytest
from perfdiag.facts.host_facts import Facts
from perfdiag.model.java_machines import java_machines
from perfdiag.model.waits.stopped_threads import ACCOUNT
from perfdiag.recording import schema

from live.support.fixtures import Attach, Cleanup
from live.support.java import CLASSES, OldJava
from live.support.model import model_of
from unit.support.waiting import until

OBJECTS, COUNT, SPINNERS = 4_000_000, 7, 6
LOG = "stops.log"
LOGGED = {
    8: ("-XX:+PrintGCApplicationStoppedTime", f"-Xloggc:/mnt/{LOG}"),
    11: (f"-Xlog:safepoint:file=/mnt/{LOG}:none:filecount=0",),
}

pytestmark = [pytest.mark.may_skip("JDK 8 and 11"), pytest.mark.timeout(120)]


def logged() -> list[tuple[float, float]]:
    """Return of each stop how many nanoseconds it took, and until all threads had stopped, by the JVM's own log."""
    stops = re.findall(
        r"were stopped: ([0-9.]+) seconds, Stopping threads took: ([0-9.]+)", (CLASSES / LOG).read_text()
    )
    return [(float(whole) * 1e9, float(reaching) * 1e9) for whole, reaching in stops]


@pytest.mark.parametrize("major", [8, 11])
def test_threads_are_stopped_as_long_as_the_counters_say(major: int, cleanup: Cleanup, attach: Attach) -> None:
    options = ("-XX:+UseSerialGC", "-Xmx600m", *LOGGED[major])
    java = OldJava(major, "Collections", OBJECTS, COUNT, SPINNERS, options=options)
    cleanup.enter_context(java)
    recorder = attach(java)
    until(lambda: f"/hotspot/{java.pid}" in recorder.output.read_text(), "its counters were read")
    java.start()
    truth = java.line()  # it lives on until its counters have been read again
    recording = recorder.stop()
    facts = Facts.parse(recording.of(schema.Fact)).java_machines[java.pid]
    assert facts.begin and facts.end and facts.end.way == "memory"
    java.end()  # JDK 8 writes the last line of its log then
    model = model_of(recording)
    [machine] = java_machines(model)
    assert truth["collections"] == COUNT == machine.collections
    stops = logged()[slice(*(each.numbers["sun.rt.safepoints"] for each in (facts.begin, facts.end)))]
    assert machine.stops == len(stops) >= COUNT
    assert machine.stopped_ns == pytest.approx(sum(whole for whole, _ in stops), rel=0.02)
    assert machine.reaching_ns == pytest.approx(sum(reaching for _, reaching in stops), rel=0.02)
    # Who asked for the collections waits for them, too; one without a CPU when a stop begins, or ends, waits for that.
    stopped_ns, spinners = machine.stopped_ns or 0, [thread for thread in model.threads if thread.comm == "spinner"]
    queued_ns = sum(thread.ns("runq.busy") for thread in spinners)
    assert len(spinners) == SPINNERS
    assert 0.95 * SPINNERS * stopped_ns - queued_ns < model.ns(ACCOUNT)
    assert model.ns(ACCOUNT) < 1.05 * (SPINNERS + 1) * stopped_ns + queued_ns

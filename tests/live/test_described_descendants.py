"""What the host facts say of a target's descendants: what holds them back, whose children they are."""

from __future__ import annotations

from perfdiag.model.model import Model

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

MS = 1_000_000

# Has so many children, of which the first may use one CPU alone; the last is born when somebody connects.
PARENT = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))

def child(alone=False):
    if os.fork():
        return
    if alone:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    while True:
        time.sleep(0.01)
        if os.getppid() == 1:
            os._exit(0)

for number in range(int(sys.argv[1]) - 1):
    child(number == 0)
print(listener.getsockname()[1], flush=True)
listener.settimeout(0.2)
try:
    listener.accept()
except TimeoutError:
    pass
child()
time.sleep(60)
"""


def recorded(attach: Attach, cleanup: Cleanup, children: int, only: bool = False) -> tuple[int, Model]:
    pid, _ = cleanup.enter_context(running_server(PARENT, children))
    recording = attach(pid, only=only, duration_ns=700 * MS).wait()
    check_model(recording)
    return pid, model_of(recording)


def test_children_are_described(attach: Attach, cleanup: Cleanup) -> None:
    pid, model = recorded(attach, cleanup, 3)
    known = model.facts.processes
    children = [each for each in known.values() if each.status["PPid"] == str(pid)]
    assert len(known) == 4 and len(children) == 3
    assert sorted(len(each.cpus_allowed or "") > 1 for each in children) == [False, True, True]


def test_of_many_some_are(attach: Attach, cleanup: Cleanup) -> None:
    pid, model = recorded(attach, cleanup, 40)
    assert pid in model.facts.processes and len(model.facts.processes) == 1 + 16


def test_none_is_where_they_are_left_out(attach: Attach, cleanup: Cleanup) -> None:
    pid, model = recorded(attach, cleanup, 3, only=True)
    assert set(model.facts.processes) == {pid}

"""Users and control groups that may have no more tasks, while the target starts one after the other."""

from __future__ import annotations

import pytest

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.host import cgroup
from live.support.model import check_model, model_of
from live.support.recording import Recording

MS = 1_000_000
USER = 61_207  # of nobody else here

# Tries to start a process again and again; is held to so many tasks as this user, or joins a control group.
STARTING = """
import os, resource, sys, time
if sys.argv[1] == "group":
    open(sys.argv[2], "w").write("0")
else:
    tasks = int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    os.setresuid(int(sys.argv[1]), int(sys.argv[1]), int(sys.argv[1]))
end, alive = os.pipe()
if not os.fork():
    os.close(alive)
    os.read(end, 1)  # until the other ends
    os._exit(0)
print(0, flush=True)
while True:
    try:
        child = os.fork()
    except OSError:
        time.sleep(0.01)
        continue
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.01)
"""


def recorded(attach: Attach, cleanup: Cleanup, *arguments: object) -> Recording:
    pid, _ = cleanup.enter_context(running_server(STARTING, *arguments))
    recording = attach(pid, duration_ns=500 * MS).wait()
    check_model(recording)
    return recording


@pytest.mark.parametrize(("tasks", "full"), [(2, True), (20, False)])
def test_a_user(tasks: int, full: bool, attach: Attach, cleanup: Cleanup) -> None:
    found = fault(model_of(recorded(attach, cleanup, USER, tasks)), "PROC-LIMIT")
    assert (found is not None) is full
    assert found is None or found.evidence[0].text == "2 of 2 tasks"


@pytest.mark.parametrize(("tasks", "full"), [(2, True), (20, False)])
def test_a_control_group(tasks: int, full: bool, attach: Attach, cleanup: Cleanup) -> None:
    group = cleanup.enter_context(cgroup("pids", "task-limit", max=tasks))
    found = fault(model_of(recorded(attach, cleanup, "group", group / "cgroup.procs")), "PROC-LIMIT")
    assert (found is not None) is full
    assert found is None or (found.severity.value, found.evidence[0].text) == ("critical", "2 of 2 tasks")

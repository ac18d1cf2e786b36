"""Settings of the network are those of the target's network namespace, wherever the recorder runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from live.support.fixtures import Attach, Start
from live.support.model import model_of
from unit.support.waiting import until

SET = "ip link set lo up && sysctl -qw net.ipv4.tcp_sack=0 && exec"
ALONE = ("unshare", "--net", "sh", "-c", f'{SET} "$@"', "sh")


@pytest.mark.parametrize(("wrapper", "value"), [(ALONE, "0"), ((), "1")])
def test_a_setting_of_the_network(wrapper: Sequence[str], value: str, start: Start, attach: Attach) -> None:
    target = start("listen_overflow", wrapper=wrapper)
    recorder = attach(target)
    until(lambda: f"/network_settings/{target.pid}" in recorder.output.read_text(), "its settings were read")
    facts = model_of(recorder.stop()).facts
    (found,) = facts.sysctls("net/ipv4/tcp_sack")
    assert (found.value, found.pid) == (value, target.pid if wrapper else None)
    (of_the_kernel,) = facts.sysctls("net/core/netdev_budget")
    assert of_the_kernel.pid is None

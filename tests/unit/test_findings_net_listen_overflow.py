"""NET-LISTEN-OVERFLOW: dropped here, dropped at others' sockets, not to be told."""

from __future__ import annotations

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import Listener, Listeners
from perfdiag.model.model import Model
from perfdiag.report.assembly import make

from unit.support import Builder
from unit.support.facts import facts
from unit.support.judging import check, finding, knowing, outcomes, silence

ID = "NET-LISTEN-OVERFLOW"


def socket(dropped: int | None, *, limit: int = 128, queued: int = 129, port: int = 8080) -> Listener:
    return Listener("0.0.0.0", port, queued, limit, dropped, [100])


def listening(
    *sockets: Listener,
    overflows: int = 17,
    drops: int | None = None,
    opened: int = 100,
    somaxconn: int | None = 4096,
    own: bool = True,
    complete: bool = True,
    builder: Builder | None = None,
) -> Model:
    model = (builder or Builder().thread(cpu_user="9 s")).model()
    deltas = {
        "TcpExt.ListenOverflows": overflows,
        "TcpExt.ListenDrops": overflows if drops is None else drops,
        "Tcp.PassiveOpens": opened,
    }
    return knowing(model, network_deltas=deltas, listeners=Listeners(sockets, somaxconn, own, complete))


def test_a_server_that_accepts_too_slowly() -> None:
    found = finding(listening(socket(17)), ID)
    assert found.severity is Severity.CRITICAL and found.confidence is Confidence.HIGH and not found.claims
    assert found.claim.startswith("17 connections to 0.0.0.0:8080 found the accept queue full and got no answer")
    assert "does not accept them in time, and its queue holds 128" in found.claim
    assert [each.value for each in found.evidence] == [17, 129, pytest.approx(17 / 117)]
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX, RemedyKind.FIX]
    assert "accept faster" in found.remedies[0].text and "asked for 128" in found.remedies[1].text
    assert "(4,096)" in found.remedies[1].text


def test_a_burst_at_a_server_that_waits_for_connections() -> None:
    builder = Builder().thread("acceptor", cpu_user="1 s", net_accept=("8 s", 100))
    found = finding(listening(socket(17, queued=0), builder=builder), ID)
    assert "more arrive at once than its queue of 128 holds, though acceptor waits for them" in found.claim
    assert "asked for 128" in found.remedies[0].text and "8.00 s" in found.evidence[-1].text


def test_idle_threads_that_do_not_accept_need_neither_workers_nor_a_longer_queue() -> None:
    builder = Builder().thread("worker", cpu_user="100 ms", wait_events="9900 ms")
    found = finding(listening(socket(17), builder=builder), ID)
    assert "idle" in found.headline and len(found.remedies) == 1
    assert "-p 100" in found.remedies[0].text and "longer queue do not help" in found.remedies[0].text


def test_idle_threads_that_have_emptied_the_queue_met_a_burst() -> None:
    builder = Builder().thread("worker", cpu_user="100 ms", wait_events="9900 ms")
    found = finding(listening(socket(17, queued=0), builder=builder), ID)
    assert "idle" not in found.headline and "asked for 128" in found.remedies[0].text and len(found.remedies) == 2


@pytest.mark.parametrize("account", ["wait.parked", "disk.read", "net.receive"])
def test_threads_that_wait_for_something_else_are_not_idle(account: str) -> None:
    builder = Builder().thread("worker", cpu_user="100 ms", rest=account)
    found = finding(listening(socket(17), builder=builder), ID)
    assert "idle" not in found.headline and len(found.remedies) == 2


def test_the_hosts_limit_cuts_what_the_program_asks_for() -> None:
    trial = finding(listening(socket(17), somaxconn=128), ID).remedies[1]
    assert trial.kind is RemedyKind.TRY and trial.text == "sysctl -w net.core.somaxconn=256"
    assert trial.undo == "sysctl -w net.core.somaxconn=128" and "net.core.somaxconn = 128" in trial.present_value


def test_the_limit_is_that_of_the_targets_namespace() -> None:
    trial = finding(listening(socket(17), somaxconn=128, own=False), ID).remedies[1]
    assert trial.text == "nsenter -t 100 -n sysctl -w net.core.somaxconn=256"
    assert trial.undo == "nsenter -t 100 -n sysctl -w net.core.somaxconn=128"


def test_one_client_in_a_crowd_is_no_fault() -> None:
    assert finding(listening(socket(2), overflows=2), ID).severity is Severity.INFO
    assert finding(listening(socket(17), opened=100_000), ID).severity is Severity.INFO
    assert finding(listening(socket(3), overflows=3, opened=200), ID).severity is Severity.WARNING
    assert finding(listening(socket(3), overflows=3, opened=57), ID).severity is Severity.CRITICAL, "one in twenty"


def test_who_drops_connections_is_not_acquitted_for_its_neighbours() -> None:
    """Its threads wait for a CPU that others have: that is no reason to say that it is not the slow part."""
    builder = Builder().thread("web", cpu_user="100 ms", runq_busy="500 ms", net_accept="2 s")
    builder.row("runq.busy", "other:7:backup", "500 ms", count=50).fact("/proc/100/net/netstat", *map(netstat, (0, 17)))
    builder.fact("/proc/100/net/snmp", "Tcp: PassiveOpens\nTcp: 0\n", "Tcp: PassiveOpens\nTcp: 100\n")
    model = builder.fact(PATH.format(100), "", "somaxconn 4096 own\n0.0.0.0 80 6 5 17 77\n").model()
    said = make(model, diagnose(model), Config()).verdict
    assert said.ids[0] == ID and "0.0.0.0:80" in said.text, said


def netstat(overflows: int) -> str:
    return f"TcpExt: ListenOverflows ListenDrops\nTcpExt: {overflows} {overflows}\n"


def test_what_others_dropped_is_taken_off() -> None:
    assert finding(listening(socket(17), overflows=20, drops=23), ID).evidence[0].value == 14
    said = silence(listening(socket(17), overflows=6, drops=23), ID)
    assert "17 connections dropped at 0.0.0.0:8080, but it is unknown" in said.reason


def test_a_neighbours_queue_is_none_of_the_targets() -> None:
    assert "17 times, none of the target" in check(listening(socket(0)), ID).text
    assert "17 times, none of the target" in check(listening(), ID).text


def test_nothing_dropped_is_fine_and_nobody_who_came_is_not_worth_a_word() -> None:
    assert "100 connections" in check(listening(socket(0), overflows=0), ID).text
    assert not outcomes(listening(overflows=0, opened=0), ID)


def test_whose_queue_it_was_may_not_be_known() -> None:
    assert "earlier drops" in silence(listening(socket(None)), ID).reason
    assert "could not be read" in silence(listening(socket(0), complete=False), ID).reason
    some = finding(listening(socket(17), socket(None, port=8081)), ID)
    assert some.confidence is Confidence.MEDIUM and "there may be more" in some.limits[0]
    unread = listening()
    unread.facts.__dict__["listeners"] = None
    unread.facts.reasons["listeners"] = ["/sock_diag/listen/100: Operation not permitted"]
    assert "whose: /sock_diag/listen/100: Operation not permitted" in silence(unread, ID).reason


def test_counters_that_were_not_read_are_not_zero() -> None:
    accepting = Builder().thread(cpu_user="1 s", net_accept="8 s").model()
    assert "ListenOverflows is unknown" in silence(knowing(accepting, network_deltas={}), ID).reason
    assert not outcomes(knowing(Builder().thread(cpu_user="1 s").model(), network_deltas={}), ID)


# The facts


PATH = "/sock_diag/listen/{}"
BEGIN = "somaxconn 4096 own\n0.0.0.0 80 0 511 3 9001\n"
END = "somaxconn 4096 own\n0.0.0.0 80 512 511 20 9001\n:: 81 0 5 2 9002\n"


def test_what_was_dropped_at_each_socket_of_two_processes() -> None:
    paths = [PATH.format(7), PATH.format(8)]
    found = facts(dict.fromkeys(paths, BEGIN), dict.fromkeys(paths, END)).listeners
    assert found == Listeners(
        [Listener("0.0.0.0", 80, 512, 511, 17, (7, 8)), Listener("::", 81, 0, 5, 2, (7, 8))], 4096, True, True
    )


def test_a_namespace_in_which_nothing_was_dropped_before() -> None:
    found = facts({PATH.format(7): ""}, {PATH.format(7): END}).listeners
    assert found and [each.dropped for each in found.sockets] == [20, 2]


def test_sockets_without_a_begin_or_an_end() -> None:
    found = facts({}, {PATH.format(7): END}).listeners
    assert found and [each.dropped for each in found.sockets] == [None, None]
    gone = facts({PATH.format(7): BEGIN, PATH.format(8): BEGIN}, {PATH.format(8): END}).listeners
    assert gone and not gone.complete and [each.dropped for each in gone.sockets] == [17, 2]
    assert facts({PATH.format(7): BEGIN}, {}).listeners is None

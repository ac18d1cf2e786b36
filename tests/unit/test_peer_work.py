"""What a process of this host was in while the target waited for it ends the sentence on its slow answers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from perfdiag.diagnosis.frame import begun
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.judging import finding

PEER, UNIX, MS = "peer:127.0.0.1:6379", "unix:77:cache", 1_000_000
NET, IPC = "NET-PEER-SLOW", "IPC-PEER-SLOW"


def asking(account: str = "net.receive", key: str = PEER) -> Builder:
    """A target that has asked 100 questions, each answered after 60 ms."""
    builder = Builder(window="10 s").thread("shop", cpu_user="1 s").row(account, key, durations={"60 ms": 100})
    return builder.exchange(key, "connected", {"60 ms": 100}, bytes_out=100_000)


def meanwhile(builder: Builder, root: str, seconds: float, **more: Any) -> Builder:
    """What the other end, cache (77), was in for so long."""
    place = {"account": "net.receive", "object": PEER, "peer_pid": 77, "peer_comm": "cache"}
    doer = {"root_object": "", "root_pid": 77, "root_tid": 77, "root_comm": "cache"}
    return builder.line(schema.PeerWait(pid=100, root=root, sum_ns=round(seconds * 1e9), **{**place, **doer, **more}))


@pytest.mark.parametrize(
    ("root", "does", "remedy", "mechanism"),
    [
        ("wait.timer", "sleeps", "shorten or drop the sleep in cache (77)", Mechanism.SLEEP),
        ("cpu.user", "computes", "make cache (77) cheaper", Mechanism.SLOW),
        ("runq.throttled", "is held back by a CPU limit", "cat /proc/77/cgroup", Mechanism.LIMIT),
        ("wait.stopped", "is stopped, traced or frozen", "/proc/77/status", Mechanism.STOPPED),
        ("swap.beyond", "is in swap.beyond", "perfdiag latency --pid 77", Mechanism.SLOW),  # of a newer recorder
    ],
)
def test_a_peer_on_this_host_is_told_with_what_it_does(root: str, does: str, remedy: str, mechanism: Mechanism) -> None:
    found = finding(meanwhile(asking(), root, 5.5).model(), NET)
    assert found.headline == f"127.0.0.1:6379 answers slowly: cache (77) {does}"
    assert found.severity is Severity.WARNING and found.mechanism is mechanism
    assert remedy in found.remedies[0].text and [each.pid for each in found.others] == [77]


def test_whom_it_waits_for_itself_is_named_with_the_device() -> None:
    builder = meanwhile(asking(), "disk.flush", 5.5, root_object="device:8:0", root_pid=88, root_comm="store")
    found = finding(builder.model(), NET)
    assert found.headline == "127.0.0.1:6379 answers slowly: cache (77) waits for store (88), which flushes to 8:0"
    assert "--pid 88" in found.remedies[0].text


def test_two_accounts_are_told_with_their_shares() -> None:
    found = finding(meanwhile(meanwhile(asking(), "cpu.user", 4.0), "runq.busy", 2.0).model(), NET)
    assert found.headline.endswith("cache (77) computes (67 %) and waits for a CPU (33 %)")


def test_the_function_is_named_in_which_it_began_to_sleep() -> None:
    stack = schema.PeerStack(
        kind="wait",
        pid=77,
        tid=77,
        account="wait.timer",
        object="",
        count=50,
        weight_ns=5 * 10**9,
        kernel=[],
        user=["clock_nanosleep (libc.so.6)", "back_off (cache)", "main (cache)"],
    )
    found = finding(meanwhile(asking(), "wait.timer", 5.5).line(stack).model(), NET)
    assert found.headline.endswith("cache (77) sleeps in back_off (cache)")
    assert "shorten or drop the sleep in back_off (cache) of cache (77)" in found.remedies[0].text


@pytest.mark.parametrize(("tid", "names"), [(77, "serve"), (78, "tidy"), (79, "")])
def test_the_function_is_that_of_the_thread_that_answers(tid: int, names: str) -> None:
    """Another thread of the server sleeps all day; where two share no stack with who answered, neither is named."""
    builder = meanwhile(asking(), "wait.timer", 5.5, root_tid=tid)
    for thread, function in ((77, "serve"), (78, "tidy")):
        builder.line(
            schema.PeerStack(
                kind="wait",
                pid=77,
                tid=thread,
                account="wait.timer",
                object="",
                count=50,
                weight_ns=5 * 10**9 * (thread - 76),
                kernel=[],
                user=["clock_nanosleep (libc.so.6)", f"{function} (cache)"],
            )
        )
    assert finding(builder.model(), NET).headline.endswith(f"sleeps in {names} (cache)" if names else "sleeps")


def test_an_event_loop_is_not_accused_of_what_it_does_for_others_while_its_own_peer_works() -> None:
    found = finding(meanwhile(meanwhile(asking(), "cpu.user", 4.5), "wait.events", 1.0).model(), NET)
    assert found.headline == finding(asking().model(), NET).headline


@pytest.mark.parametrize("object", ["peer:0.0.0.0:0", "peer:[::]:0"])
def test_a_server_of_datagrams_that_waits_for_anybody_is_idle(object: str) -> None:
    found = finding(meanwhile(asking(), "net.receive", 5.5, root_object=object).model(), NET)
    assert found.headline.endswith("cache (77) waits for events itself")


def test_who_wakes_a_thread_that_waits_for_another_ones_answer_is_not_the_one_that_answers() -> None:
    """A feed pushes each 20 ms while an event loop waits for an answer of 300 ms."""
    builder = meanwhile(asking(), "cpu.user", 5.5, root_pid=88, root_comm="feed", root_tid=88)
    feed = builder.model().peer_waits[0].line
    builder = meanwhile(asking(), "wait.timer", 5.5, account="wait.events")
    builder.line(msgspec.structs.replace(feed, peer_pid=88, peer_comm="feed"))
    assert finding(builder.model(), NET).headline == "127.0.0.1:6379 answers slowly: cache (77) sleeps"


def test_one_that_waits_for_an_answer_of_the_target_is_not_accused() -> None:
    builder = asking().row("net.accept", "port:34105", durations={"1 s": 2})
    builder.socket(PEER, local="127.0.0.1:50000")
    meanwhile(builder, "net.receive", 5.5, root_object="peer:127.0.0.1:34105")
    assert "34105" not in finding(builder.model(), NET).headline


def test_one_that_waits_for_events_itself_is_not_accused_of_anything_else() -> None:
    """A queue without jobs answers late, and is healthy; so does a proxy whose own server is slow."""
    found = finding(meanwhile(asking(), "wait.events", 5.5).model(), NET)
    assert found.mechanism is Mechanism.UNDETERMINED and found.severity is Severity.INFO
    assert found.headline.endswith("for answers or for work: cache (77) waits for events itself")
    mostly = finding(meanwhile(meanwhile(asking(), "wait.events", 4), "cpu.user", 1.5).model(), NET)
    assert mostly.headline == finding(asking().model(), NET).headline
    assert "waited for events" in mostly.evidence[-1].text


def test_a_small_part_of_many_is_no_cause() -> None:
    builder = asking()
    for root, seconds in (("wait.events", 2.5), ("cpu.user", 1.2), ("runq.busy", 1.1), ("disk.read", 1.0)):
        meanwhile(builder, root, seconds)
    assert finding(builder.model(), NET).headline == finding(asking().model(), NET).headline


def test_what_a_child_did_that_has_ended_is_not_told_of_its_parent() -> None:
    found = finding(meanwhile(asking(), "wait.timer", 5.5, root_pid=0, root_comm="", root_tid=78).model(), NET)
    assert found.headline.endswith("cache (77) sleeps in a thread or child that has ended")


def test_whoever_waits_for_the_target_is_not_slow() -> None:
    found = finding(meanwhile(asking(), "cpu.user", 5.5, root_pid=100, root_comm="shop").model(), NET)
    assert "computes" not in found.headline


def test_objects_are_told_with_their_own_account() -> None:
    builder = meanwhile(asking(), "disk.read", 3.0, root_object="device:8:0")
    assert finding(meanwhile(builder, "disk.flush", 2.5, root_object="device:8:16").model(), NET).headline.endswith(
        "reads from 8:0 (55 %) and flushes to 8:16 (45 %)"
    )
    assert finding(meanwhile(asking(), "disk.read", 5.5).model(), NET).headline.endswith("reads from a disk")


def test_what_is_known_of_less_than_half_of_the_waits_tells_nothing() -> None:
    assert (
        finding(meanwhile(asking(), "cpu.user", 2.5).model(), NET).headline == finding(asking().model(), NET).headline
    )


def test_whoever_may_feed_the_target_is_not_called_slow_for_its_sleep() -> None:
    """A consumer acknowledges each message with a few bytes, and waits for the next one."""

    def fed(root: str) -> Builder:
        builder = Builder(window="10 s").thread("shop", cpu_user="1 s")
        builder.row("net.receive", PEER, durations={"60 ms": 100}).socket(PEER, in_flight=1)
        return meanwhile(builder.exchange(PEER, "connected", {"60 ms": 100}, bytes_out=900), root, 5.5)

    found = finding(fed("wait.timer").model(), NET)
    assert found.mechanism is Mechanism.UNDETERMINED and found.headline.endswith(
        "for answers or for work: cache (77) sleeps"
    )
    assert finding(fed("cpu.user").model(), NET).mechanism is Mechanism.SLOW


def test_at_a_unix_socket() -> None:
    builder = meanwhile(asking("ipc.unix", UNIX), "lock.file", 5.5, account="ipc.unix", object=UNIX)
    found = finding(builder.model(), IPC)
    assert found.headline == "cache (77) answers slowly: it waits for a file lock"


def behind(builder: Builder, number: int, root: str, seconds: float, **more: Any) -> Builder:
    """What one of several that it asks was in for so long."""
    given = {"root_pid": number, "root_tid": number, "root_comm": f"store{number}", **more}
    return meanwhile(builder, root, seconds, **given)


def test_what_two_behind_it_do_is_told_of_each() -> None:
    builder = behind(behind(asking(), 88, "cpu.user", 3.0), 89, "wait.timer", 2.5)
    found = finding(builder.model(), NET)
    assert found.headline == (
        "127.0.0.1:6379 answers slowly: behind cache (77), store88 (88) computes (55 %) and store89 (89) sleeps (45 %)"
    )
    assert [each.text.split(":")[0] for each in found.evidence[-2:]] == ["store88 (88)", "store89 (89)"]
    mine = finding(meanwhile(behind(asking(), 88, "cpu.user", 3.0), "wait.timer", 2.5).model(), NET)
    assert mine.headline.endswith("cache (77) sleeps (45 %) and waits for store88 (88), which computes (55 %)")


def test_of_several_behind_it_of_which_none_has_most_none_is_named() -> None:
    builder = asking()
    for number in (88, 89, 90):
        behind(builder, number, "wait.timer", 1.9)
    found = finding(builder.model(), NET)
    assert found.headline.endswith("cache (77) waits for several processes, which sleep")
    assert [each.pid for each in found.others] == [88, 89, 90]
    assert found.remedies[0].text == "shorten or drop the sleep in store88 (88), store89 (89), store90 (90)"


def test_its_threads_are_told_apart_by_name_and_together_where_their_names_say_nothing() -> None:
    own = {"root_pid": 77}
    builder = behind(asking(), 78, "cpu.user", 3.0, root_comm="crunch", **own)
    named = finding(behind(builder, 79, "wait.timer", 2.5, root_comm="nap", **own).model(), NET)
    assert named.headline.endswith("in cache (77), crunch (77) computes (55 %) and nap (77) sleeps (45 %)")
    builder = asking()
    for number in (78, 79, 80):
        behind(builder, number, "cpu.user", 1.9, root_comm=f"worker-{number}", **own)
    assert finding(builder.model(), NET).headline.endswith("slowly: cache (77) computes")


def test_of_several_that_answer_none_is_named_for_the_others() -> None:
    builder = asking("lock.file", "inode:8:0:77")
    for number in (88, 89, 90):
        place = {"account": "lock.file", "object": "inode:8:0:77", "peer_pid": number, "peer_comm": f"store{number}"}
        behind(builder, number, "wait.timer", 1.9, **place)
    found = finding(builder.model(), "LOCK-CONTENTION")
    assert found.headline.startswith("Several processes hold the lock on ")
    assert found.headline.endswith(": they sleep")


def test_threads_for_which_there_was_no_room_are_not_taken_for_one() -> None:
    found = finding(meanwhile(asking(), "wait.timer", 5.5, root_pid=0, root_comm="", root_tid=0).model(), NET)
    assert found.headline.endswith("cache (77) waits for several threads or processes, which sleep")


@pytest.mark.parametrize("name", ["\x1b[2J", "", "a\nb"])
def test_names_of_others_are_shown_escaped(name: str) -> None:
    builder = meanwhile(asking(), "cpu.user", 5.5, root_comm=name)
    assert finding(builder.model(), NET).headline.isprintable()


def by_backends(met: str) -> Builder:
    """Ten processes that each answer a part of the calls and end; some were met on a CPU, under a name."""
    builder = asking("ipc.unix", UNIX)
    for pid in range(80, 90):
        place = {"account": "ipc.unix", "object": UNIX, "peer_pid": pid, "peer_comm": ""}
        meanwhile(builder, "wait.timer", 0.55, root_pid=0, root_comm="", root_tid=pid, **place)
    for pid in range(80, 90, 2):
        builder.row("runq.busy", f"task:{pid}:{met}", "1 ms")
    return builder


def test_processes_that_have_ended_have_the_name_under_which_they_were_met_on_a_cpu() -> None:
    """PostgreSQL's backends were "several processes", with a remedy for "(80), (81), (82) and 7 more"."""
    found = finding(by_backends("backend").model(), IPC)
    assert found.headline == "backend (10 processes) answer slowly: they sleep"
    assert found.remedies[0].text == "shorten or drop the sleep in backend (10 processes)"


def test_few_of_one_name_are_listed_in_the_remedy() -> None:
    builder = asking()
    for number in (88, 89, 90):
        behind(builder, number, "wait.timer", 1.9, root_comm="store")
    found = finding(builder.model(), NET)
    assert found.headline.endswith("cache (77) waits for store (3 processes), which sleep")
    assert found.remedies[0].text == "shorten or drop the sleep in store (88), store (89), store (90)"


def test_processes_of_which_no_name_is_known_are_not_listed_by_number() -> None:
    found = finding(by_backends("").model(), IPC)
    assert found.headline == "Several processes answer slowly: they sleep"
    assert found.remedies[0].text == "shorten or drop the sleep in several processes"


@pytest.mark.parametrize(
    ("headline", "said"),
    [
        ("a socket made by cache (77) answers", "A socket made by cache (77) answers"),
        ("a.out (7) waits", "a.out (7) waits"),
    ],
)
def test_a_place_without_a_name_begins_a_sentence(headline: str, said: str) -> None:
    """It read "This process is not the slow part. a socket made by postgres answers slowly"."""
    assert begun(headline) == said

"""Chains: the accounts and names that rows have, one thread or several, and a way that can be printed."""

from __future__ import annotations

from perfdiag.model.model import Model

from unit.support import Builder

FUTEX = "futex:0x7f00"


def locked() -> Builder:
    """A thread parked on what its stacks prove to be a lock."""
    builder = Builder().thread("worker", tid=101, cpu_user="1 s")
    builder.row("wait.parked", FUTEX, "4 s", count=100, waker_tid=102, waker_count=90)
    return builder.stack("wait", "wait.parked", object=FUTEX, user=["pthread_mutex_lock (libc.so.6)"], weight="4 s")


def paths(model: Model) -> list[str]:
    return [chain.path for chain in model.chains]


def test_a_chain_stands_where_its_waits_do() -> None:
    model = locked().because("wait.parked", FUTEX, "disk.flush", "3 s", "device:254:0").model()
    assert [(chain.account, chain.key) for chain in model.chains] == [("lock.futex", FUTEX)]
    assert {(row.account, row.key) for row in model.rows} >= {("lock.futex", FUTEX)}


def test_who_waits_for_itself_is_no_chain() -> None:
    model = locked().because("wait.parked", FUTEX, "wait.parked", "3 s", FUTEX).model()
    assert model.chains == []


def test_the_way_is_told_and_that_it_is_cut() -> None:
    builder = Builder().thread(cpu_user="1 s").row("ipc.pipe", "pipe:5", "5 s")
    builder.because("ipc.pipe", "pipe:5", "wait.timer", "2 s", steps=["ipc.unix"])
    builder.because("ipc.pipe", "pipe:5", "runq.busy", "1 s", steps=["ipc.unix", "ipc.pipe", "lock.file"], cut=True)
    assert paths(builder.model()) == [
        "ipc.pipe -> ipc.unix -> wait.timer",
        "ipc.pipe -> ipc.unix -> ipc.pipe -> lock.file -> ... -> runq.busy",
    ]


def test_a_lock_that_has_a_name_is_named_on_the_way() -> None:
    builder = Builder().thread("python3", tid=101, cpu_user="1 s")
    builder.row("wait.parked", FUTEX, "4 s", count=100, waker_tid=102, waker_count=90)
    gil = ["pthread_cond_timedwait (libc.so.6)", "take_gil (libpython3.11.so.1.0)"]
    builder.stack("wait", "wait.parked", object=FUTEX, user=gil, weight="4 s")
    builder.because("wait.parked", FUTEX, "wait.timer", "3 s")
    assert paths(builder.model()) == ["lock.futex the GIL -> wait.timer"]
    assert paths(locked().because("wait.parked", FUTEX, "wait.timer", "3 s").model()) == ["lock.futex -> wait.timer"]


def test_one_thread_is_named_only_if_it_was_most_of_it() -> None:
    one = Builder().thread(cpu_user="1 s").row("ipc.pipe", "pipe:5", "5 s")
    one.because("ipc.pipe", "pipe:5", "wait.timer", "2 s", root_tid=7)
    several = Builder().thread(cpu_user="1 s").row("ipc.pipe", "pipe:5", "5 s")
    several.because("ipc.pipe", "pipe:5", "wait.timer", "2 s")
    assert [chain.root_tid for model in (one.model(), several.model()) for chain in model.chains] == [7, 0]


def test_a_second_view_adds_nothing() -> None:
    plain, with_chain = locked().model(), locked().because("wait.parked", FUTEX, "disk.flush", "3 s").model()
    assert plain.accounts == with_chain.accounts and plain.busy_ns == with_chain.busy_ns

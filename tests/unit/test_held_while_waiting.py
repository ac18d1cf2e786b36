"""Locks that are held while somebody else is waited for: what to release, and what is not the user's to release."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, is_elsewhere
from perfdiag.model.model import Model

from unit.support import Builder

FUTEX, CLIENT, UPSTREAM = "futex:0x7f08", "peer:10.0.0.9:41000", "peer:10.0.0.5:80"
MUTEX = ["pthread_mutex_lock (libc.so.6)", "publish (app)"]
TABLE = ["pthread_cond_timedwait (libc.so.6)", "thr_multi_lock (mariadbd)"]


def held(account: str, peer: str, local: str, scan: list[str]) -> Model:
    """One thread has the lock and waits 6 s for a peer; another one waits for the lock."""
    builder = Builder().thread("holder", tid=101, cpu_user="100 ms", rest="net.accept")
    builder.row(account, peer, "6 s", count=100).socket(peer, local=local, waits_receiver=100)
    builder.thread("waiter", tid=102, cpu_user="100 ms", rest="net.accept")
    builder.row("wait.parked", FUTEX, "5 s", count=10, waker_tid=101, waker_count=9)
    builder.stack("wait", "wait.parked", object=FUTEX, user=["__lll_lock_wait (libc.so.6)"], scan=scan, weight="5 s")
    return builder.because("wait.parked", FUTEX, account, "5 s", peer, root_tid=101).model()


def first(model: Model) -> Finding:
    return diagnose(model).findings[0]


def test_a_lock_without_a_name_is_called_by_who_wants_it() -> None:
    found = first(held("net.receive", UPSTREAM, "10.0.0.2:40000", MUTEX))
    assert found.id == "NET-PEER-SLOW" and not is_elsewhere(found)
    assert found.remedies[0].text.startswith("release the lock that publish waits for before calling 10.0.0.5:80:")


def test_each_client_has_room_of_its_own() -> None:
    """A cache is sent to a slow client under its lock: who has another client would not wait."""
    found = first(held("net.send", CLIENT, "10.0.0.2:80", MUTEX))
    assert found.id == "NET-SLOW-CLIENT" and "threads hold a lock meanwhile" in found.headline
    assert "before sending to 10.0.0.9:41000" in found.remedies[0].text and not is_elsewhere(found)


def test_the_lock_of_a_server_is_not_released_by_who_runs_it() -> None:
    found = first(held("net.send", CLIENT, "10.0.0.2:80", TABLE))
    assert found.id == "NET-SLOW-CLIENT" and "threads hold MariaDB's table locks meanwhile" in found.headline
    assert "ENGINE=InnoDB" in found.remedies[0].text and "release" not in found.remedies[0].text


def test_a_session_that_holds_a_lock_of_its_server_waits_for_its_client() -> None:
    """FLUSH TABLES WITH READ LOCK, and a snapshot while it lasts."""
    builder = Builder(comm="mariadbd").thread("mariadbd", tid=200, cpu_user="10 ms", rest="net.request")
    builder.thread("mariadbd", tid=101, cpu_user="1 s", rest="net.request")
    builder.row("wait.parked", FUTEX, "5 s", count=10, waker_tid=200, waker_count=10)
    scan = ["pthread_cond_timedwait (libc.so.6)", "_ZN8MDL_wait10timed_waitEP18MDL_context_owner (mariadbd)"]
    builder.stack("wait", "wait.parked", object=FUTEX, user=["__futex_abstimed_wait_common"], scan=scan, weight="5 s")
    builder.because("wait.parked", FUTEX, "net.request", "5 s", "port:3306", root_tid=200, inside=True)
    found = first(builder.model())
    assert found.id == "LOCK-CONTENTION" and "MariaDB's metadata locks" in found.headline
    assert "mariadbd (200), waits for its client" in found.headline
    assert "FLUSH TABLES WITH READ LOCK" in found.remedies[1].text

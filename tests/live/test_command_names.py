"""Requests in Redis's protocol are called after their commands, and nothing else of them is kept."""

from __future__ import annotations

import time

import pytest
from perfdiag.recording.recording import Recording

from live.support.fixtures import Attach, Serving
from live.support.serving import asked, exchanged, stopped

SLEEPER = "thread_each(listening(), sleeps(0.001))"


def command(*words: bytes) -> bytes:
    """Return the bytes of a command; an empty argument ends it with an empty line, as the server wants."""
    arguments = [*words, b""]
    return b"*%d\r\n" % len(arguments) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in arguments)


def counts(recording: Recording) -> dict[str, int]:
    """Return how many requests of each name were answered."""
    return {name: each.line.count for name, each in exchanged(recording, "accepted").items()}


def test_commands_have_names(serving: Serving, attach: Attach) -> None:
    """In whatever letters they were sent, before and behind what has no name."""
    server = serving(SLEEPER)
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(31):
            asked(connection, command(b"get", b"secret:1"))
            asked(connection, command(b"SET", b"secret:1", b"secret"))
        asked(connection, command(b"SET", b"secret:2", b"secret" * 50_000))
        asked(connection, command(b"not-a-c0mmand", b"secret"))
        for _ in range(7):
            asked(connection, command(b"KEYS", b"secret:*"))
    recording = stopped(recorder)
    assert b"secret" not in recording.path.read_bytes()
    assert counts(recording) == {"GET": 31, "SET": 32, "KEYS": 7, "": 1}


@pytest.mark.parametrize(("options", "names"), [([], {"INFO", "REPLCONF"}), (["no-request-names"], {""})])
def test_a_command_may_want_no_answer(options: list[str], names: set[str], serving: Serving, attach: Attach) -> None:
    """Each is let go by the next one, after a pause: it has not waited since."""
    server = serving("thread_each(listening(), but_never('REPLCONF'))")
    recorder = attach(server.pid, first=options)
    with server.connect() as connection:
        asked(connection, command(b"INFO"))
        for _ in range(3):
            connection.sendall(command(b"REPLCONF", b"ACK", b"17"))
            time.sleep(0.4)
        asked(connection, command(b"INFO"))
        recording = stopped(recorder)
    lines = [each.line for each in exchanged(recording, "accepted").values()]
    assert {line.name for line in lines} == names
    assert sum(line.untimed for line in lines) == 3 and not sum(line.unanswered + line.open for line in lines), lines

"""Functions of scripts that threads wait in which slept when the recording began."""

from __future__ import annotations

import msgspec
from perfdiag.model.stacks.sleepers_scripts import with_scripts
from perfdiag.recording import schema

WAITS = "futex_wait (libc.so.6)"
ACQUIRE = ["acquire (logging.py:922)", "do_GET (service.py:31)"]


def waits(count: int = 1, object: str = "futex:0x10", **fields: object) -> schema.Stack:
    of = {"kernel": ["futex_wait"], "user": [WAITS], "script": ACQUIRE}
    given = {**of, **fields}
    return msgspec.convert(
        {"type": "stack", "kind": "wait", "pid": 7, "tid": 8, "account": "wait.parked", "object": object}
        | {"count": count, "weight_ns": 1, **given},
        schema.Stack,
    )


def asleep(**fields: object) -> schema.Stack:
    return waits(kernel=[], script=[], **fields)


def test_who_sleeps_for_the_same_waits_in_the_same_function() -> None:
    assert with_scripts([asleep(), waits(9), waits(1, script=["get (queue.py:7)"])])[0].script == ACQUIRE


def test_who_may_sleep_for_something_else_keeps_no_function() -> None:
    for other in (asleep(object="futex:0x20"), asleep(user=["poll (libc.so.6)"]), asleep(account="wait.work")):
        assert not with_scripts([other, waits(9)])[0].script
    assert not with_scripts([asleep(), waits(3), waits(2, script=["get (queue.py:7)"])])[0].script
    assert with_scripts([waits(script=[]), waits(9)])[0].script == [], "it went to sleep in the window: none was there"

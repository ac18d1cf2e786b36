"""Recordings of a whole host: what a Builder made, its threads among processes that have one line each."""

from __future__ import annotations

import io

import msgspec
from perfdiag.model import builder as ledger
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema
from perfdiag.recording.accounts import BY_NAME

from unit.support.amounts import Time, nanoseconds
from unit.support.recording import Builder


def process(
    builder: Builder, comm: str, pid: int = 0, *, threads: int = 1, kernel: bool = False, **accounts: Time
) -> schema.Process:
    """Return the line of a process; what its accounts leave of the window is wait.events."""
    spent = {name.replace("_", ".", 1): nanoseconds(time) for name, time in accounts.items()}
    assert set(spent) <= set(BY_NAME), "an account that does not exist"
    wall_ns = threads * builder.window_ns
    spent["wait.events"] = wall_ns - sum(spent.values())
    return schema.Process(
        at_ns=0,
        pid=pid,
        comm=comm,
        kernel=kernel,
        threads=threads,
        processes=1,
        wall_ns=wall_ns,
        user_ns=0,
        kernel_ns=0,
        accounts=[schema.AccountSum(name, ns, 1, ns) for name, ns in spent.items() if ns],
    )


def recorded(builder: Builder, *processes: schema.Process, left_out: int | None = 2000) -> bytes:
    """Return the recording of a host with these processes beside what the builder has."""
    header, *body = builder.lines()
    assert isinstance(header, schema.Header)
    options = msgspec.structs.replace(header.options, host=True)
    lines: list[schema.Line] = [msgspec.structs.replace(header, options=options, targets=[]), *processes]
    for line in body:
        footer = isinstance(line, schema.Footer)
        lines.append(msgspec.structs.replace(line, threads_left_out=left_out) if footer else line)
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def host(builder: Builder, *processes: schema.Process, left_out: int | None = 2000) -> Model:
    """Return the model of that recording."""
    return ledger.build(reader.read(io.BytesIO(recorded(builder, *processes, left_out=left_out))))


__all__ = ["host", "process", "recorded"]

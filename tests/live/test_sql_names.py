"""Statements of PostgreSQL that are run by a name: never called by the text of another, and known where they can be."""

from __future__ import annotations

import socket

import pytest
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model
from live.support.recording import Recording

SECRET = "secret_9d41c"

# Answers when the client waits: after Sync, or a query alone.
DATABASE = """
import socket, threading, time
def is_whole(sent):
    return sent.endswith(b"S\\0\\0\\0\\4") or sent[:1] == b"Q" and len(sent) == 1 + int.from_bytes(sent[1:5], "big")
def serve(connection):
    sent = b""
    while more := connection.recv(1_000_000):
        sent += more
        if is_whole(sent):
            time.sleep(0.0002)
            connection.sendall(b"answer")
            sent = b""
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

CLIENT = """
import socket, struct, sys
port, case, secret = int(sys.argv[1]), sys.argv[2], sys.argv[3]
database = socket.create_connection(("127.0.0.1", port))
database.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def message(kind, content=b""):
    return kind + struct.pack(">I", len(content) + 4) + content

def parse(name, text):
    return message(b"P", f"{name}\\0{text}\\0\\0\\0".encode())

def bind(name, parameter=b""):
    values = struct.pack(">HI", 1, len(parameter)) + parameter if parameter else bytes(2)
    return message(b"B", b"\\0" + name.encode() + bytes(3) + values + bytes(2))

def close(name):
    return message(b"C", f"S{name}\\0".encode())

def query(text):
    return message(b"Q", text.encode() + b"\\0")

execute, sync = message(b"E", bytes(5)), message(b"S")

def describe(name):
    return message(b"D", f"S{name}\\0".encode())

def send(*messages, times=1):
    for _ in range(times):
        database.sendall(b"".join(messages))
        assert database.recv(100)

def run(name, times=1):
    send(bind(name), execute, sync, times=times)

def prepare(name, text):
    send(parse(name, text), describe(name), sync)

def send_pieces(data, *ends):
    begin = 0
    for end in (*ends, len(data)):
        database.sendall(data[begin:end])
        begin = end
    assert database.recv(100)

def closed():
    prepare("a", "SELECT alpha")
    run("a", 2)
    send(close("a"), parse("a", "SELECT omega"), bind("a"), execute, sync)
    run("a", 3)

def behind():
    prepare("a", "SELECT alpha")
    run("a", 2)
    send(query("DEALLOCATE a"))
    send(parse("b", "SELECT beta"), parse("a", "SELECT omega"), sync)
    run("a", 3)
    run("b", 4)

def refused():
    prepare("a", "SELECT alpha")
    run("a", 2)
    prepare("a", "SELECT alpha")
    run("a", 4)
    prepare("a", "SELECT omega")
    run("a", 3)

def closed_only():
    prepare("a", "SELECT alpha")
    run("a", 2)
    send(close("a"), sync)
    run("a")

def unseen():
    prepare("a", "SELECT alpha")
    run("a", 2)
    data = close("a") + parse("a", "SELECT omega") + sync
    database.sendmsg([data[:10], data[10:]])
    assert database.recv(100)
    run("a", 3)
    prepare("b", "SELECT beta")
    run("b", 4)

def named_in_sql():
    prepare("a", "SELECT alpha")
    run("a", 2)
    send(query("DEALLOCATE a; PREPARE a AS SELECT omega"))
    run("a", 3)

def pieces():
    prepare("a", "SELECT alpha")
    whole = bind("a", b"x" * 200)
    for more in range(1, 12):
        send_pieces(whole + execute + sync, len(whole) + more)
    send_pieces(whole + execute + sync, 100, 150)
    run("a", 2)
    send_pieces(close("a") + parse("b", "SELECT beta") + sync, len(close("a")) + 6)
    run("a", 3)

def batches():
    prepare("a", "SELECT alpha")
    send((bind("a") + describe("a") + execute) * 300, sync)
    run("a", 2)
    send((bind("a") + execute) * 600, sync)
    run("a", 3)

def many_texts():
    send(*(parse(f"s{n}", f"SELECT column{n}") + describe(f"s{n}") for n in range(40)), sync)
    run("s39", 3)
    send(*(parse(f"t{n}", f"SELECT column{n}") for n in range(100)), sync)
    run("s39", 2)

def transactions():
    send(parse("", "BEGIN"), bind(""), execute, parse("", "SELECT alpha"), bind(""), execute, sync)
    send(query("begin isolation level serializable"), parse("", "SELECT beta"), bind(""), execute, sync, times=2)
    prepare("s1", "BEGIN")
    prepare("s2", "SELECT gamma")
    send(bind("s1"), execute, bind("s2"), execute, sync, times=3)
    begin = parse("", "BEGIN") + bind("") + execute
    send_pieces(begin + parse("", "SELECT delta") + bind("") + execute + sync, len(begin))
    zeta = parse("", "SELECT zeta") + bind("") + execute
    send(begin, zeta, parse("", "SELECT slow"), bind(""), execute, sync)
    send_pieces(zeta + parse("", "SELECT slow") + bind("") + execute + sync, len(zeta))
    send(query("BEGIN; SELECT epsilon"))
    send(query("COMMIT"))

def copied():
    send(query("SELECT 1"))
    send(query("COPY t FROM STDIN"))
    row = message(b"d", b"x" * 20 + query(f"SELECT {secret}"))
    database.sendall(row[:25])
    send(row[25:], message(b"c"), sync)

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.recv(1000)
globals()[case]()
connection.sendall(b"done")
"""

RUN = {
    "closed": {"SELECT alpha": 2, "SELECT omega": 4},
    "behind": {"SELECT alpha": 2, "DEALLOCATE a": 1, "prepared": 3, "SELECT beta": 4},
    "refused": {"SELECT alpha": 2 + 4, "prepared": 3},
    "closed_only": {"SELECT alpha": 2, "prepared": 1},
    "unseen": {"SELECT alpha": 2, "prepared": 3, "SELECT beta": 4},
    "named_in_sql": {"SELECT alpha": 2, "DEALLOCATE a; PREPARE a AS SELECT omega": 1, "prepared": 3},
    "pieces": {"SELECT alpha": 11 + 1 + 2, "prepared": 3},
    "batches": {"SELECT alpha": 2, "SELECT alpha, ...": 1 + 1, "prepared": 3},
    "many_texts": {"SELECT column39": 3, "prepared": 2},
    "transactions": {
        "SELECT alpha": 1,
        "SELECT beta": 2,
        "SELECT gamma": 3,
        "SELECT delta": 1,
        "SELECT zeta, ...": 2,
        "BEGIN; SELECT epsilon": 1,
        "COMMIT": 1,
    },
    "copied": {"SELECT ?": 1, "COPY t FROM STDIN": 1},
}


def recorded(attach: Attach, cleanup: Cleanup, case: str) -> Recording:
    _, database = cleanup.enter_context(running_server(DATABASE, first=True))
    pid, port = cleanup.enter_context(running_server(CLIENT, database, case, SECRET, first=True))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"begin")
        assert client.recv(1000) == b"done"
    recording = recorder.stop()
    check_model(recording)
    assert SECRET.encode() not in recording.path.read_bytes()
    return recording


@pytest.mark.parametrize("case", RUN)
def test_each_statement_is_called_by_its_own_text_or_by_none(case: str, attach: Attach, cleanup: Cleanup) -> None:
    lines = recorded(attach, cleanup, case).of(schema.SqlCall)
    others = {"together": ", ..."}
    found = {(line.name or line.kind) + others.get(line.kind, ""): line.count for line in lines}
    assert found == RUN[case]

"""What a server sends to those who listen, while others ask: news, and on how many connections."""

from __future__ import annotations

import socket

from perfdiag.diagnosis.evidence.requests.unasked_sends import mostly_unasked
from perfdiag.recording import schema

from live.support import laws
from live.support.calling import ask, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

REQUESTS, LISTENERS, NEWS_BYTES = 23, 5, 4000

# The first clients listen; each request of the last one is news to all of them.
SERVER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
listening = [listener.accept()[0] for _ in range(int(sys.argv[1]))]
asking = listener.accept()[0]
while asking.recv(100):
    for connection in listening:
        connection.sendall(b"x" * int(sys.argv[2]))
    asking.sendall(b"done")
"""


def test_news_for_those_who_ask_nothing_is_counted(attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, LISTENERS, NEWS_BYTES))
    for _ in range(LISTENERS):
        cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    client = cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    recorder = attach(pid, only=True)
    ask(client, REQUESTS)
    recording = recorder.stop()
    laws.check(recording)
    check_model(recording)
    (inside,) = recording.of(schema.RequestsInside)
    told = (inside.unasked, inside.unasked_bytes, inside.unasked_connections)
    assert told == (REQUESTS * LISTENERS, REQUESTS * LISTENERS * NEWS_BYTES, LISTENERS)
    news = mostly_unasked(model_of(recording))
    assert news and (news.answers, news.answers_bytes) == (REQUESTS, REQUESTS * len(b"done"))

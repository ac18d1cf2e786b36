"""Requests over TLS: those of HTTP/1 are timed, those of HTTP/2 are several at once, whose ends nothing shows."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.test_requests_odd import BLOCK, WINDOW_UPDATE, frame

CERTIFICATE = Path(__file__).parents[1] / "data" / "tls" / "server.pem"  # of nobody, and of no worth
REQUESTS = 11

# Speaks TLS and one protocol; reads records one by one, as OpenSSL does, or all that is there, as Node.js and Go do.
# Answers whatever is longer than a frame without contents.
SERVER = """
import socket, ssl, sys, threading
certificate, protocol, at_once = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate)
context.set_alpn_protocols([protocol])
class AtOnce:
    def __init__(self, connection):
        self.connection, self.come, self.gone = connection, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.come, self.gone, server_side=True)
        self.now(self.tls.do_handshake)
    def now(self, call, *arguments):
        while True:
            try:
                return call(*arguments)
            except ssl.SSLWantReadError:
                self.flush()
                self.come.write(self.connection.recv(65536)) or self.come.write_eof()
            finally:
                self.flush()
    def flush(self):
        if self.gone.pending:
            self.connection.sendall(self.gone.read())
    def recv(self, most):
        return self.now(self.tls.read, most)
    def sendall(self, text):
        self.now(self.tls.write, text)
def serve(connection):
    talk = AtOnce(connection) if at_once else context.wrap_socket(connection, server_side=True)
    if protocol == "h2":
        talk.sendall(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
    try:
        while got := talk.recv(65536):
            if len(got) > 13:
                talk.sendall(b"an answer, of some length, to what has come")
    except OSError:
        pass
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
SETTINGS_ACK = frame(4, 1, 0)
GET = b"GET /of/some/length HTTP/1.1\r\nHost: localhost\r\n\r\n"


def talk(port: int, version: ssl.TLSVersion, protocol: str, offered: list[str]) -> None:
    """Connect, ask so often, and say goodbye, as browsers do."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(offered)
    with socket.create_connection(("127.0.0.1", port)) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = context.wrap_socket(plain)
        assert connection.selected_alpn_protocol() == protocol
        if protocol == "h2":
            connection.sendall(HELLO + frame(1, 5, 1, BLOCK))
            connection.sendall(SETTINGS_ACK)
        for number in range(REQUESTS):
            request = GET if protocol == "http/1.1" else frame(1, 5, 2 * number + 3, BLOCK)
            connection.sendall(request)
            assert connection.recv(1000)
            if protocol == "h2":
                connection.sendall(WINDOW_UPDATE)
        connection.unwrap() if version is ssl.TLSVersion.TLSv1_3 and protocol == "http/1.1" else connection.close()


def served(protocol: str, version: ssl.TLSVersion, at_once: bool, attach: Attach, cleanup: Cleanup) -> schema.Exchange:
    """Return what is told of a server of that protocol, of which three clients ask; they would speak either one."""
    pid, port = cleanup.enter_context(running_server(SERVER, CERTIFICATE, protocol, at_once))
    recorder = attach(pid, only=True)
    for _ in range(3):
        talk(port, version, protocol, ["h2", "http/1.1"])
    (line,) = [each.line for each in model_of(recorder.stop()).exchanges if each.served]
    return line


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda each: each.name)
@pytest.mark.parametrize("at_once", [False, True], ids=["by record", "at once"])
def test_http2_is_recognised(version: ssl.TLSVersion, at_once: bool, attach: Attach, cleanup: Cleanup) -> None:
    line = served("h2", version, at_once, attach, cleanup)
    assert line.declined == 3 and line.count + line.untimed <= 3, line


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=lambda each: each.name)
@pytest.mark.parametrize("at_once", [False, True], ids=["by record", "at once"])
def test_http1_is_timed_whatever_was_offered(
    version: ssl.TLSVersion, at_once: bool, attach: Attach, cleanup: Cleanup
) -> None:
    line = served("http/1.1", version, at_once, attach, cleanup)
    assert line.count == 3 * REQUESTS and not line.declined, line

"""A server with a thread for each connection: what the Python rows have in common."""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Takes all connections at once."""

    request_queue_size = 128
    daemon_threads = True


def serve(port: int, work: Callable[[str], None], *, in_pieces: bool = False) -> None:
    """Answer for ever, each request when `work` has been done for its path; `in_pieces`: as the library does it, which
    writes head and body apart."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = not in_pieces
        wbufsize = 0 if in_pieces else -1  # one write for an answer

        def do_GET(self) -> None:
            work(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"done\n")

        def log_message(self, format: str, *arguments: object) -> None:
            """Log nothing."""

    Server(("127.0.0.1", port), Handler).serve_forever()

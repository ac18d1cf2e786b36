"""api.py PORT LIMIT: gives parts away, so many of them every three seconds; who asks for more is told to come later."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

given: dict[int, int] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers."""

    def do_GET(self) -> None:
        turn = int(time.time() // 3)
        given[turn] = given.get(turn, 0) + 1
        many = given[turn] > int(sys.argv[2])
        body = b"too many requests\n" if many else b"a part\n"
        self.send_response(429 if many else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

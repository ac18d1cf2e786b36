"""metadata.py: the metadata service of a machine; HOPS 1: its tokens do not get as far as a container."""

import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Answers, or not."""

    def do_PUT(self) -> None:
        """Send a token."""
        if os.environ["HOPS"] == "1":
            time.sleep(30)
        self.answer()

    def do_GET(self) -> None:
        """Send credentials."""
        self.answer()

    def answer(self) -> None:
        """Send a word."""
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secret")

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""


ThreadingHTTPServer(("169.254.169.254", 80), Handler).serve_forever()

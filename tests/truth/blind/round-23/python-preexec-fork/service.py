"""Says what the sum of an upload is, and keeps a large index in memory."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

index = [bytes(100_000) for _ in range(15_000)]


def digest(path: str) -> bytes:
    """Return the sum of a file, which a program computes, in a group of processes of its own."""
    if os.environ["START"] == "fork":
        return subprocess.run(["sha256sum", path], stdout=subprocess.PIPE, preexec_fn=os.setpgrp, check=True).stdout
    return subprocess.run(["sha256sum", path], stdout=subprocess.PIPE, process_group=0, check=True).stdout


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the sum."""
        page = digest("upload")
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()

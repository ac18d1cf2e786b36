"""Answers with a list of articles, and notes what it has sent in a log, which is rotated when it is full."""

import json
import logging.handlers
import lzma
import os
import random
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

log = logging.getLogger("service")


def renamed(source: str, goal: str) -> None:
    """Put a full log aside."""
    os.rename(source, goal)


def compressed(source: str, goal: str) -> None:
    """Put a full log aside, small."""
    with open(source, "rb") as full, lzma.open(goal, "wb") as small:
        shutil.copyfileobj(full, small)
    os.remove(source)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer, and note that."""
        first = random.randrange(100_000)
        page = json.dumps([{"article": first + n, "price": random.random()} for n in range(1200)]).encode()
        log.info("sent %s %s", self.path, page)
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing else."""


class Server(ThreadingHTTPServer):
    request_queue_size = 500
    daemon_threads = True


handler = logging.handlers.RotatingFileHandler("service.log", maxBytes=3_000_000, backupCount=3)
handler.rotator = compressed if os.environ["ROTATOR"] == "xz" else renamed
log.addHandler(handler)
log.setLevel(logging.INFO)
Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()

"""What each worker runs: asks its upstream, and sleeps, for each request."""

import os
import time
import urllib.request
from collections.abc import Callable

Start = Callable[[str, list[tuple[str, str]]], object]
UPSTREAM, SLEEP_S = f"http://127.0.0.1:{os.environ['UPSTREAM']}/", float(os.environ["SLEEP_MS"]) / 1000


def application(environ: dict[str, object], start_response: Start) -> list[bytes]:
    """Answer one request (PEP 3333)."""
    if SLEEP_S:
        time.sleep(SLEEP_S)
    with urllib.request.urlopen(UPSTREAM) as answer:
        body = answer.read()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

"""What each worker runs: asks its upstream, and sleeps, for each request."""

import os
import time
import urllib.request
from collections.abc import Callable

Start = Callable[[str, list[tuple[str, str]]], object]
UPSTREAM, SLEEP_S = f"http://127.0.0.1:{os.environ['UPSTREAM']}/", float(os.environ["SLEEP_MS"]) / 1000
LONG_S = 0.8


def application(environ: dict[str, object], start_response: Start) -> list[bytes]:
    """Answer one request (PEP 3333)."""
    sleep_s = LONG_S if environ["PATH_INFO"] == "/long" else SLEEP_S
    if sleep_s:
        time.sleep(sleep_s)
    with urllib.request.urlopen(UPSTREAM) as answer:
        body = answer.read()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

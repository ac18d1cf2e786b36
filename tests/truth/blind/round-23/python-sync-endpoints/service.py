"""Says what something costs, which it asks somebody else for, as many at a time as THREADS says."""

import http.client
import os
import threading

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

own = threading.local()


def price() -> str:
    """Ask the pricing service, over the connection of this thread."""
    if not hasattr(own, "connection"):
        own.connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PRICES"]))
    own.connection.request("GET", "/price")
    return own.connection.getresponse().read().decode()


def article(request: Request) -> PlainTextResponse:
    """Answer with a page; as this is not async, it runs in a thread."""
    return PlainTextResponse(f"costs {price()}")


async def begin() -> None:
    """Say how many threads there may be."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = int(os.environ["THREADS"])


service = Starlette(routes=[Route("/", article)], on_startup=[begin])
uvicorn.run(service, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="error", access_log=False, backlog=4096)

"""An ASGI application that asks a service for each request."""

import asyncio
import os

import requests

URL = f"http://127.0.0.1:{os.environ['SERVICE']}/"


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    if os.environ["CALL"] == "blocking":
        answer = requests.get(URL)
    else:
        answer = await asyncio.to_thread(requests.get, URL)
    body = answer.content
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})

"""PORT COLLECTS: a catalogue in memory, and sessions that are kept for a while."""

import collections
import gc
import sys

from aiohttp import web

catalogue = [{"id": number, "tags": [number]} for number in range(600_000)]
sessions: collections.deque = collections.deque(maxlen=100)
if sys.argv[2] == "0":
    gc.disable()


async def page(_):
    sessions.append([[number] for number in range(12000)])
    return web.Response(text=f"{len(catalogue)}\n")


application = web.Application()
application.add_routes([web.get("/", page)])
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)

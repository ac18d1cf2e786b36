"""PORT WAITS: answers at once, and makes a thumbnail for /thumb."""

import asyncio
import subprocess
import sys

from aiohttp import web

WORDS = ["gm", "convert", "photo.jpg", "-resize", "300x200", "-sharpen", "3", "thumb.jpg"]


async def thumb(_):
    if sys.argv[2] == "run":
        subprocess.run(WORDS, check=True)
    else:
        process = await asyncio.create_subprocess_exec(*WORDS)
        await process.wait()
    return web.Response(text="made\n")


async def page(_):
    return web.Response(text="hello\n")


application = web.Application()
application.add_routes([web.get("/", page), web.get("/thumb", thumb)])
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)

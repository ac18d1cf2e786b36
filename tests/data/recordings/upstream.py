"""Answers after 5 ms, each tenth time after 300 ms: upstream.py PORT."""

import asyncio
import itertools
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
NUMBERS = itertools.count(1)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection until its client has gone."""
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.005 if next(NUMBERS) % 10 else 0.3)
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

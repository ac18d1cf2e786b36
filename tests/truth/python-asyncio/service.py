"""A service of coroutines: service.py PORT UPSTREAM BLOCK_MS COMPUTE_MS; the last two are what "/other" does wrong."""

import asyncio
import sys
import time

PORT, UPSTREAM = int(sys.argv[1]), int(sys.argv[2])
BLOCK_S, COMPUTE_S = float(sys.argv[3]) / 1000, float(sys.argv[4]) / 1000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


def read_settings() -> None:
    """What should have been awaited."""
    time.sleep(BLOCK_S)
    end = time.thread_time() + COMPUTE_S
    while time.thread_time() < end:
        pass


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ask the upstream for each request of one connection."""
    answers, upstream = await asyncio.open_connection("127.0.0.1", UPSTREAM)
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b"/other" in head:
                read_settings()
            upstream.write(b"GET / HTTP/1.1\r\nHost: upstream\r\n\r\n")
            await answers.readuntil(b"hello\n")
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        upstream.close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())

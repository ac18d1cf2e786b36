"""login.py PORT MS: says yes to whoever asks whether a session is valid, after so many milliseconds."""

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nX-User: a\r\nContent-Length: 3\r\n\r\nyes"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection until its client has gone."""
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(int(sys.argv[2]) / 1000)
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

"""An upstream that answers every request after so many milliseconds, however many there are: upstream.py PORT MS."""

import asyncio
import sys

PORT, DELAY_S = int(sys.argv[1]), float(sys.argv[2]) / 1000
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection until its client has gone."""
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(DELAY_S)
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())

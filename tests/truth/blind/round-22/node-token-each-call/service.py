"""A service that answers after so many milliseconds: service.py PORT MS."""

import asyncio
import json
import sys
import time


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer until the client has gone."""
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(int(sys.argv[2]) / 1000)
            body = json.dumps({"token": "secret", "expires_at": int(time.time()) + 3600, "rate": 1.1}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Listen."""
    server = await asyncio.start_server(served, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

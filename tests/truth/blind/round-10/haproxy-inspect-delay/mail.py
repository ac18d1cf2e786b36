"""mail.py PORT: greets whoever connects, at once, and waits for the end."""

import asyncio
import contextlib
import sys


async def greet(reader, writer):
    with contextlib.suppress(ConnectionError):
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.read(100)
    writer.close()


async def main():
    server = await asyncio.start_server(greet, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

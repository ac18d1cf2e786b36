"""PORT: stores what is posted, and knows nothing of "Expect: 100-continue"."""

import asyncio
import re
import sys


async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
            await asyncio.sleep(0.005)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstored")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), limit=1 << 21) as server:
        await server.serve_forever()


asyncio.run(main())

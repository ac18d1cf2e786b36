"""PORT: answers each request of a connection at once."""

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            writer.write(ANSWER)
            await writer.drain()
            if b"Connection: close" in head:
                break
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

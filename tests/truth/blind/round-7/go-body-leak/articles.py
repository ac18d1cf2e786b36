"""PORT: answers every request after 2 ms, with 404 and a page of its own for every second article."""

import asyncio
import sys


async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(0.002)
            is_there = int(head.split()[1][1:]) % 2
            body = b"an article\n" if is_there else b"there is no such article " * 4000
            status = b"200 OK" if is_there else b"404 Not Found"
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

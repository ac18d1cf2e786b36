"""service.py PORT: adds up the stock of 300 places, each looked up by a task of its own."""

import asyncio
import sys

ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}"


async def stock(place):
    await asyncio.sleep(0)
    return place * 3 % 7


async def handle(reader, writer):
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            text = f"{sum(await asyncio.gather(*map(stock, range(300))))}\n"
            writer.write(ANSWER.format(len(text), text).encode())
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

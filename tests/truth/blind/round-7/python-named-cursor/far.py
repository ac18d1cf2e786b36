"""PORT TO MS: a way to a server that takes so many milliseconds in each direction, however much is on it."""

import asyncio
import sys

PORT, TO, WAY_S = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000


async def carry(reader, writer):
    loop = asyncio.get_running_loop()
    while data := await reader.read(1 << 16):
        loop.call_later(WAY_S, writer.write, data)
    loop.call_later(WAY_S, writer.close)


async def way(reader, writer):
    back_reader, back_writer = await asyncio.open_connection("127.0.0.1", TO)
    await asyncio.gather(carry(reader, back_writer), carry(back_reader, writer), return_exceptions=True)


async def main():
    server = await asyncio.start_server(way, "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())

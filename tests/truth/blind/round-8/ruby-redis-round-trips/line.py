"""PORT PEER MS: passes bytes on to a local port, so many milliseconds late in each direction."""

import asyncio
import contextlib
import sys

port, peer, delay_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000


async def carry(reader, writer):
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            await asyncio.sleep(delay_s)
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(reader, writer):
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", peer)
    await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())

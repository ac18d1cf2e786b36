"""PORT UPSTREAM MS: a relay to UPSTREAM, with a way of MS milliseconds there, and the same back."""

import asyncio
import sys

PORT, UPSTREAM, MS = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


async def forward(reader, writer):
    loop = asyncio.get_running_loop()
    way: asyncio.Queue = asyncio.Queue()

    async def deliver():
        while (item := await way.get()) is not None:
            due, data = item
            await asyncio.sleep(max(0, due - loop.time()))
            writer.write(data)
            await writer.drain()
        writer.close()

    delivery = asyncio.create_task(deliver())
    while data := await reader.read(1 << 16):
        way.put_nowait((loop.time() + MS / 1000, data))
    way.put_nowait(None)
    await delivery


async def relay(reader, writer):
    there = await asyncio.open_connection("127.0.0.1", UPSTREAM)
    await asyncio.gather(forward(reader, there[1]), forward(there[0], writer), return_exceptions=True)


async def main():
    async with await asyncio.start_server(relay, "127.0.0.1", PORT) as server:
        await server.serve_forever()


asyncio.run(main())

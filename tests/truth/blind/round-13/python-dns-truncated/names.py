"""names.py ADDRESSES MS: knows pool.example.test, of so many addresses; answers by UDP, and by TCP after MS.

What does not fit into 512 bytes is cut short by UDP, so that clients ask again by TCP.
"""

import asyncio
import struct
import sys

ADDRESSES, DELAY_S = int(sys.argv[1]), float(sys.argv[2]) / 1000


def answer(query):
    end = query.index(b"\0", 12) + 5
    records = b"".join(struct.pack("!HHHIH4B", 0xC00C, 1, 1, 0, 4, 10, 1, 0, n + 1) for n in range(ADDRESSES))
    return query[:2] + struct.pack("!5H", 0x8580, 1, ADDRESSES, 0, 0) + query[12:end] + records


class Datagrams(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, query, whom):
        text = answer(query)
        if len(text) > 512:
            end = query.index(b"\0", 12) + 5
            text = query[:2] + struct.pack("!5H", 0x8780, 1, 0, 0, 0) + query[12:end]
        self.transport.sendto(text, whom)


async def stream(reader, writer):
    try:
        while True:
            (length,) = struct.unpack("!H", await reader.readexactly(2))
            text = answer(await reader.readexactly(length))
            await asyncio.sleep(DELAY_S)
            writer.write(struct.pack("!H", len(text)) + text)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Datagrams, ("127.0.0.1", 53))
    server = await asyncio.start_server(stream, "127.0.0.1", 53)
    await server.serve_forever()


asyncio.run(main())

"""names.py MS: knows stock.example.test, at 127.0.0.1, and answers by UDP after so many milliseconds."""

import asyncio
import struct
import sys

DELAY_S = float(sys.argv[1]) / 1000


def answer(query):
    end = query.index(b"\0", 12) + 5
    address = query[end - 4 : end - 2] == b"\0\1"
    record = struct.pack("!HHHIH4B", 0xC00C, 1, 1, 60, 4, 127, 0, 0, 1) if address else b""
    return query[:2] + struct.pack("!5H", 0x8580, 1, int(address), 0, 0) + query[12:end] + record


class Datagrams(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, query, whom):
        asyncio.get_running_loop().call_later(DELAY_S, self.transport.sendto, answer(query), whom)


async def main():
    await asyncio.get_running_loop().create_datagram_endpoint(Datagrams, ("127.0.0.1", 53))
    await asyncio.Event().wait()


asyncio.run(main())

"""MS: a name server that answers questions for "metrics" after so many milliseconds, others at once, with 127.0.0.1."""

import asyncio
import struct
import sys

DELAY_S = float(sys.argv[1]) / 1000


class Server(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        asyncio.get_running_loop().call_later(DELAY_S * (b"metrics" in data), self.answer, data, address)

    def answer(self, data, address):
        end = data.index(b"\0", 12) + 5
        found = data[end - 3] == 1  # asked for A
        head = data[:2] + struct.pack(">5H", 0x8180, 1, int(found), 0, 0)
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + bytes([127, 0, 0, 1]) if found else b""
        self.transport.sendto(head + data[12:end] + record, address)


async def main():
    await asyncio.get_running_loop().create_datagram_endpoint(Server, ("127.0.0.1", 53))
    await asyncio.sleep(1000)


asyncio.run(main())

"""MS: knows api.partner.example, and finds out after MS milliseconds that there is nothing else."""

import asyncio
import socket
import struct
import sys


class Names(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, asker):
        end = data.index(b"\0", 12)
        name, (kind,) = data[12:end], struct.unpack(">H", data[end + 1 : end + 3])
        question = data[12 : end + 5]
        known = name.lower() == b"\x03api\x07partner\x07example"
        answers = b""
        if known and kind == 1:
            answers = b"\xc0\x0c" + struct.pack(">2HIH", 1, 1, 0, 4) + socket.inet_aton("127.0.0.1")
        flags = 0x8180 if known else 0x8183
        answer = data[:2] + struct.pack(">5H", flags, 1, bool(answers), 0, 0) + question + answers
        delay = 0.0005 if known else float(sys.argv[1]) / 1000
        asyncio.get_running_loop().call_later(delay, self.transport.sendto, answer, asker)


async def main():
    await asyncio.get_running_loop().create_datagram_endpoint(Names, local_addr=("127.0.0.1", 53))
    await asyncio.Event().wait()


asyncio.run(main())

"""MS: a name server that says 127.0.0.1 of every name, each time after so many milliseconds."""

import asyncio
import sys


class Names(asyncio.DatagramProtocol):
    """Answers for itself, whatever else it has been asked meanwhile."""

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        asyncio.get_running_loop().call_later(int(sys.argv[1]) / 1000, self.answer, data, address)

    def answer(self, data, address):
        end = data.index(b"\0", 12) + 5
        is_ipv4 = data[end - 4 : end - 2] == b"\0\1"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if is_ipv4 else b""
        head = data[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_ipv4 else b"\0\0") + b"\0\0\0\0"
        self.transport.sendto(head + data[12:end] + record, address)


async def main():
    await asyncio.get_running_loop().create_datagram_endpoint(Names, local_addr=("127.0.0.1", 53))
    await asyncio.Event().wait()


asyncio.run(main())

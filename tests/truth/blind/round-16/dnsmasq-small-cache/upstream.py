"""upstream.py PORT: a name server that knows an address for each name, for an hour, and takes 20 ms to say so."""

import asyncio
import sys

PORT = int(sys.argv[1])


class Names(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        asyncio.get_running_loop().call_later(0.02, self.answer, data, address)

    def answer(self, data: bytes, address: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 5
        record = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\x0a\1\2\3"
        self.transport.sendto(data[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + data[12:end] + record, address)


async def main() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(Names, ("127.0.0.1", PORT))
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())

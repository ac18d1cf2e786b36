"""relay.py PORT MS: a relay of mail that greets its clients after so many milliseconds, to find impatient ones."""

import asyncio
import sys


async def serve(reader, writer):
    await asyncio.sleep(float(sys.argv[2]) / 1000)
    writer.write(b"220 relay.example ESMTP\r\n")
    try:
        while True:
            word = (await reader.readline())[:4].upper().strip()
            if word == b"DATA":
                writer.write(b"354 go on\r\n")
                await reader.readuntil(b"\r\n.\r\n")
            elif word in (b"QUIT", b""):
                break
            writer.write(b"250 fine\r\n")
        writer.write(b"221 bye\r\n")
        await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

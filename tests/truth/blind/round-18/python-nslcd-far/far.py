"""far.py PORT TO MS: what is sent to PORT comes to TO, and what comes back, each after half of so many milliseconds."""

import asyncio
import sys

FAR_S = int(sys.argv[3]) / 2000


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry all that comes one way."""
    while some := await reader.read(65536):
        await asyncio.sleep(FAR_S)
        writer.write(some)
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry both ways."""
    there = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(carry(reader, there[1]), carry(there[0], writer), return_exceptions=True)


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

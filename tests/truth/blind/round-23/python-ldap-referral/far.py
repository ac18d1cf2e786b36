"""A directory far away, in which nobody is found: far.py PORT MS."""

import asyncio
import sys

PORT, DELAY_S = int(sys.argv[1]), float(sys.argv[2]) / 1000
ANSWERS = {0x60: 0x61, 0x63: 0x65}  # bind, search: what ends it


async def message(reader: asyncio.StreamReader) -> bytes:
    """Read a message, and return what is in it."""
    _, size = await reader.readexactly(2)
    if size & 0x80:
        size = int.from_bytes(await reader.readexactly(size & 0x7F), "big")
    return await reader.readexactly(size)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection until its client has gone."""
    try:
        while body := await message(reader):
            number, operation = body[: 2 + body[1]], body[2 + body[1]]
            if operation in ANSWERS:
                await asyncio.sleep(DELAY_S)
                answer = number + bytes([ANSWERS[operation], 7, 10, 1, 0, 4, 0, 4, 0])
                writer.write(bytes([0x30, len(answer)]) + answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    await server.serve_forever()


asyncio.run(main())

"""Takes mail over SMTP, and looks into each message for 400 ms before it says that it has it."""

import asyncio
import os


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer until the client quits."""
    writer.write(b"220 smarthost.example ESMTP\r\n")
    while line := await reader.readline():
        word = line[:4].upper()
        if word == b"DATA":
            writer.write(b"354 go on\r\n")
            await reader.readuntil(b"\r\n.\r\n")
            await asyncio.sleep(0.4)
        writer.write(b"221 bye\r\n" if word == b"QUIT" else b"250 smarthost.example\r\n")
        if word == b"QUIT":
            break
    writer.close()


async def main() -> None:
    """Listen."""
    server = await asyncio.start_server(served, "127.0.0.1", int(os.environ["SMTP"]))
    await server.serve_forever()


asyncio.run(main())

"""The mail server of the sender: it looks 900 ms for a recipient before it says that there is one."""

import asyncio
import os


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer until the client quits."""
    writer.write(b"220 sender.example ESMTP\r\n")
    while line := await reader.readline():
        word = line[:4].upper()
        if word == b"RCPT":
            await asyncio.sleep(0.9)
        writer.write(b"221 bye\r\n" if word == b"QUIT" else b"250 sender.example\r\n")
        if word == b"QUIT":
            break
    writer.close()


async def main() -> None:
    """Listen."""
    server = await asyncio.start_server(served, "127.0.0.1", int(os.environ["SENDER"]))
    await server.serve_forever()


asyncio.run(main())

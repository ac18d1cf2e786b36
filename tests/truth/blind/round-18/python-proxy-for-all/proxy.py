"""proxy.py PORT MS: a proxy that is so many milliseconds away, both ways together."""

import asyncio
import re
import sys

FAR_S = int(sys.argv[2]) / 2000


async def passed(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read a head, and the body that it announces."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    return head, await reader.readexactly(int(length[1])) if length else b""


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what a client asks, over one connection to whom it asks."""
    upstream = None
    try:
        while True:
            head, body = await passed(reader)
            _, host, port, rest = re.split(rb"http://([^:/]+):(\d+)", head, maxsplit=1)
            await asyncio.sleep(FAR_S)
            if upstream is None:
                upstream = await asyncio.open_connection(host.decode(), int(port))
            upstream[1].write(b"GET " + rest + body)
            answer = await passed(upstream[0])
            await asyncio.sleep(FAR_S)
            writer.write(b"".join(answer))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        if upstream:
            upstream[1].close()


async def main() -> None:
    """Serve for ever."""
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

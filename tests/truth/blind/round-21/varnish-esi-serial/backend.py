"""The page, at once and for a minute, and its fragments, each after 20 ms and for as long as KEEP says."""

import asyncio
import os

PAGE = b"<html>" + b"".join(b'<esi:include src="/part/%d"/>' % n for n in range(12)) + b"</html>\n"


async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            page = head.split()[1] == b"/"
            if not page:
                await asyncio.sleep(0.02)
            body, keep = (PAGE, "max-age=60") if page else (b"<p>part</p>\n", os.environ["KEEP"])
            writer.write(
                f"HTTP/1.1 200 OK\r\nCache-Control: {keep}\r\nContent-Type: text/html\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Listen."""
    server = await asyncio.start_server(served, "127.0.0.1", int(os.environ["UPSTREAM"]))
    await server.serve_forever()


asyncio.run(main())

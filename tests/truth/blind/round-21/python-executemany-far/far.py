"""Passes on what comes to FAR to UPSTREAM, and back, after half of DELAY_MS each way."""

import asyncio
import os

DELAY_S = int(os.environ["DELAY_MS"]) / 2000


async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass on all pieces, each as late as the others."""
    loop = asyncio.get_running_loop()
    while piece := await source.read(65536):
        loop.call_later(DELAY_S, sink.write, piece)
    loop.call_later(DELAY_S, sink.close)


async def connected(near: asyncio.StreamReader, near_sink: asyncio.StreamWriter) -> None:
    """Connect to the upstream, and pass on in both directions."""
    far, far_sink = await asyncio.open_connection("127.0.0.1", int(os.environ["UPSTREAM"]))
    await asyncio.gather(carry(near, far_sink), carry(far, near_sink), return_exceptions=True)


async def main() -> None:
    """Listen."""
    server = await asyncio.start_server(connected, "127.0.0.1", int(os.environ["FAR"]))
    await server.serve_forever()


asyncio.run(main())

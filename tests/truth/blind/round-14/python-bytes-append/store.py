"""store.py PORT: sends a document of 2.5 MB for each line that it is sent."""

import asyncio
import sys

DOCUMENT = bytes(2_500_000)


async def serve(reader, writer):
    try:
        while await reader.readline():
            writer.write(DOCUMENT)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())

"""PORT CLIENTS SECONDS: clients that each keep a connection so long, and then come back at once."""

import asyncio
import sys

port, clients, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])


async def hold(number):
    await asyncio.sleep(seconds * number / clients)
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sys.argv[4].replace("~", "\r\n").encode())
            await reader.read(100)
            await asyncio.sleep(seconds)
            writer.close()
        except OSError:
            await asyncio.sleep(0.1)


async def main():
    await asyncio.gather(*map(hold, range(clients)))


asyncio.run(main())

"""service.py PORT STOCK call|count: asks the stock for each request, and holds an asyncio.Lock meanwhile, or after."""

import asyncio
import sys

port, stock, held = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
answers = 0
idle = []


async def ask():
    reader, writer = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", stock)
    writer.write(b"GET /stock HTTP/1.1\r\nHost: stock\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(6)
    idle.append((reader, writer))


async def answer(lock):
    global answers
    if held == "call":
        async with lock:
            await ask()
            answers += 1
    else:
        await ask()
        async with lock:
            answers += 1
    return f"{answers}\n".encode()


async def main():
    lock = asyncio.Lock()

    async def serve(reader, writer):
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                text = await answer(lock)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())

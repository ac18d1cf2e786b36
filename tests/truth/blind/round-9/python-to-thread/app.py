"""PORT SERVICE THREADS: asks a service for each request, by a library that blocks."""

import asyncio
import concurrent.futures
import http.client
import sys
import threading

port, service, threads = map(int, sys.argv[1:])
own = threading.local()


def ask():
    if not hasattr(own, "connection"):
        own.connection = http.client.HTTPConnection("127.0.0.1", service)
    own.connection.request("GET", "/")
    return own.connection.getresponse().read()


async def serve(reader, writer):
    try:
        while await reader.readuntil(b"\r\n\r\n"):
            body = await asyncio.to_thread(ask)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(threads))
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(main())

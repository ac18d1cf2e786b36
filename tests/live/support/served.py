"""What servers of live tests do: a process runs this text and then one call (class Server).  Only the standard library.

Each prints its address, then serves until it is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
END = b"\r\n\r\n"

Serve = Callable[[socket.socket], None]


def listening(backlog: int = 4096, path: str = "") -> socket.socket:
    """Return a socket that listens."""
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen(backlog)
    print(path or listener.getsockname()[1], flush=True)
    return listener


def thread_each(listener: socket.socket, serve: Serve) -> None:
    """Serve each connection on a thread of its own."""

    def whole(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=whole, args=(connection,), daemon=True).start()


def one_after_another(listener: socket.socket, serve: Serve) -> None:
    """Serve one connection at a time, on the one thread."""
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            serve(connection)


def head(connection: socket.socket) -> bytes:
    """Return a request up to its empty line; nothing at the connection's end."""
    data = b""
    while not data.endswith(END):
        more = connection.recv(65536)
        if not more:
            return b""
        data += more
    return data


def sleeps(seconds: float, answer: bytes = OK) -> Serve:
    """Return what answers each request after so long."""

    def serve(connection: socket.socket) -> None:
        while head(connection):
            time.sleep(seconds)
            connection.sendall(answer)

    return serve


def in_pieces(number: int, seconds: float) -> Serve:
    """Return what sends so many pieces, and pauses between them."""

    def serve(connection: socket.socket) -> None:
        while head(connection):
            for piece in range(number):
                if piece:
                    time.sleep(seconds)
                connection.sendall(b"piece " if piece < number - 1 else b"ok")

    return serve


def continues(seconds: float) -> Serve:
    """Return what asks for the body that is announced, and answers so long after it."""

    def serve(connection: socket.socket) -> None:
        while head(connection):
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            assert connection.recv(65536)
            time.sleep(seconds)
            connection.sendall(OK)

    return serve


def one_by_one(connection: socket.socket) -> None:
    """Answer pipelined requests in their order."""
    data = b""
    while more := connection.recv(64):
        data += more
        while END in data:
            _, data = data.split(END, 1)
            connection.sendall(OK)


def all_at_once(connection: socket.socket) -> None:
    """Read what has come, however many requests, and answer each."""
    while data := connection.recv(1 << 16):
        for _ in range(data.count(b"\r\n\r\n")):
            connection.sendall(OK)


def never(connection: socket.socket) -> None:
    """Read, and answer nothing."""
    while connection.recv(65536):
        pass


def handed_on(listener: socket.socket, seconds: float) -> None:
    """Read on one thread, answer on another."""
    import queue

    jobs: queue.Queue[socket.socket] = queue.Queue()

    def answer() -> None:
        while True:
            connection = jobs.get()
            time.sleep(seconds)
            connection.sendall(OK)

    threading.Thread(target=answer, daemon=True).start()

    def serve(connection: socket.socket) -> None:
        while head(connection):
            jobs.put(connection)

    one_after_another(listener, serve)


def passed_on(listener: socket.socket) -> None:
    """Pass every accepted connection to a child process, which serves it."""
    mine, theirs = socket.socketpair()
    if not os.fork():
        listener.close()
        while True:
            _, (descriptor,), _, _ = socket.recv_fds(theirs, 1, 1)
            with socket.socket(fileno=descriptor) as connection:
                sleeps(0.005)(connection)
    while True:
        connection, _ = listener.accept()
        socket.send_fds(mine, [b"."], [connection.fileno()])
        connection.close()


def spliced(connection: socket.socket) -> None:
    """Take requests out of the socket by splice(), where no tracepoint tells of them."""
    take, give = os.pipe()
    while count := os.splice(connection.fileno(), give, 65536):
        os.read(take, count)
        connection.sendall(OK)


def datagrams(seconds: float) -> None:
    """Answer datagrams."""
    server = socket.socket(type=socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    while True:
        _, client = server.recvfrom(65536)
        time.sleep(seconds)
        server.sendto(b"ok", client)


def proxy(upstream_port: int) -> None:
    """An event loop that asks another server, on a connection of its own, before it answers a request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_upstream, to_upstream = await asyncio.open_connection("127.0.0.1", upstream_port)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                request = await reader.readuntil(END)
                to_upstream.write(request)
                writer.write(await from_upstream.readuntil(b"ok"))
        to_upstream.close()
        writer.close()

    async def run() -> None:
        await asyncio.start_server(serve, sock=listening())
        await asyncio.Event().wait()

    asyncio.run(run())


def loop(seconds: float) -> None:
    """An event loop that answers by itself."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                await reader.readuntil(END)
                if seconds:
                    await asyncio.sleep(seconds)
                writer.write(OK)
        writer.close()

    async def run() -> None:
        await asyncio.start_server(serve, sock=listening())
        await asyncio.Event().wait()

    asyncio.run(run())


def flushes(path: str) -> Serve:
    """Return what makes each request safe in one file, under one lock."""
    journal, lock = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), threading.Lock()

    def serve(connection: socket.socket) -> None:
        while head(connection):
            with lock:
                os.pwrite(journal, END, 0)
                os.fdatasync(journal)
            connection.sendall(OK)

    return serve


def waits_for_a_worker(work: Callable[[], object]) -> Serve:
    """Return what gives each request to the one worker there is, and waits until that has done it."""
    import queue

    jobs: queue.Queue[threading.Event] = queue.Queue()

    def works() -> None:
        while True:
            done = jobs.get()
            work()
            done.set()

    threading.Thread(target=works, name="worker", daemon=True).start()

    def serve(connection: socket.socket) -> None:
        while head(connection):
            done = threading.Event()
            jobs.put(done)
            done.wait()
            connection.sendall(OK)

    return serve


def pooled(listener: socket.socket, workers: int, seconds: float) -> None:
    """One thread waits for requests on all connections, and gives each that comes to a pool: it is read there."""
    import queue
    import select

    ready: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    poller, opened = select.epoll(), {}

    def works() -> None:
        while True:
            connection = ready.get()
            if not head(connection):
                connection.close()
                continue
            time.sleep(seconds)
            connection.sendall(OK)
            poller.modify(connection.fileno(), select.EPOLLIN | select.EPOLLONESHOT)

    for _ in range(workers):
        threading.Thread(target=works, daemon=True).start()
    poller.register(listener.fileno(), select.EPOLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor != listener.fileno():
                ready.put(opened[descriptor])
                continue
            connection, _ = listener.accept()
            opened[connection.fileno()] = connection
            poller.register(connection.fileno(), select.EPOLLIN | select.EPOLLONESHOT)


def until_news(listener: socket.socket) -> None:
    """Answer nobody until somebody asks for /news: then all."""
    news, waiting = threading.Condition(), []

    def serve(connection: socket.socket) -> None:
        while request := head(connection):
            with news:
                if b"/news" in request:
                    news.notify_all()
                else:
                    waiting.append(connection)
                    news.wait()
            connection.sendall(OK)

    thread_each(listener, serve)


def loop_with_pauses(seconds: float) -> None:
    """An event loop that is parked again and again, on behalf of none of its requests, which wait for a timer."""
    never = threading.Lock()
    never.acquire()

    async def pauses() -> None:
        while True:
            await asyncio.sleep(seconds / 10)
            never.acquire(timeout=seconds / 4)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                await reader.readuntil(END)
                await asyncio.sleep(seconds)
                writer.write(OK)
        writer.close()

    async def run() -> None:
        task = asyncio.create_task(pauses())
        await asyncio.start_server(serve, sock=listening())
        await task

    asyncio.run(run())

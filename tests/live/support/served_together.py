"""Servers in which one thread serves several connections, or several threads have to do with one request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import socket
import threading
import time
from collections.abc import Awaitable, Callable

from live.support.served import END, OK, Serve, head, listening, one_after_another, sleeps, thread_each

Streams = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run_loop(serve: Streams, *beside: Callable[[], Awaitable[None]]) -> None:
    """Serve each connection until it ends, and do the other things all along."""

    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            await serve(reader, writer)
        writer.close()

    async def run() -> None:
        await asyncio.start_server(whole, sock=listening())
        await asyncio.gather(*(each() for each in beside), asyncio.Event().wait())

    asyncio.run(run())


def answers(seconds: float) -> Streams:
    """Return what answers each request after so long."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(END)
            if seconds:
                await asyncio.sleep(seconds)
            writer.write(OK)

    return serve


def loop(seconds: float) -> None:
    """An event loop that answers by itself."""
    run_loop(answers(seconds))


def proxy(upstream_port: int) -> None:
    """An event loop that asks another server, on a connection of its own, before it answers a request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_upstream, to_upstream = await asyncio.open_connection("127.0.0.1", upstream_port)
        with contextlib.closing(to_upstream):
            while True:
                request = await reader.readuntil(END)
                to_upstream.write(request)
                writer.write(await from_upstream.readuntil(b"ok"))

    run_loop(serve)


def impatient(upstream_port: int, seconds: float) -> None:
    """An event loop that asks another server for each request, on a new connection, and waits no longer than that."""

    async def asks(request: bytes) -> None:
        from_upstream, to_upstream = await asyncio.open_connection("127.0.0.1", upstream_port)
        with contextlib.closing(to_upstream):
            to_upstream.write(request)
            await from_upstream.readuntil(b"ok")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await reader.readuntil(END)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asks(request), seconds)
            writer.write(OK)

    run_loop(serve)


def hesitant(upstream_port: int, seconds: float) -> None:
    """An event loop that asks another server for each request, on a new connection, only after so long."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await reader.readuntil(END)
            await asyncio.sleep(seconds)
            from_upstream, to_upstream = await asyncio.open_connection("127.0.0.1", upstream_port)
            with contextlib.closing(to_upstream):
                to_upstream.write(request)
                writer.write(await from_upstream.readuntil(b"ok"))

    run_loop(serve)


def loop_with_pauses(seconds: float) -> None:
    """An event loop that is parked again and again, on behalf of none of its requests, which wait for a timer."""
    taken = threading.Lock()
    taken.acquire()

    async def pauses() -> None:
        while True:
            await asyncio.sleep(seconds / 10)
            taken.acquire(timeout=seconds / 4)

    run_loop(answers(seconds), pauses)


def pooled(listener: socket.socket, workers: int, seconds: float) -> None:
    """One thread waits for requests on all connections, and gives each that comes to a pool: it is read there."""
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


def handed_on(listener: socket.socket, seconds: float) -> None:
    """Read on one thread, answer on another."""
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


def queued_by_hand(listener: socket.socket, work: Callable[[], object]) -> None:
    """On one CPU, one thread reads the requests of all connections, and another one works on them in turn."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    jobs: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()

    def works() -> None:
        while True:
            connection = jobs.get()
            work()
            connection.sendall(OK)

    threading.Thread(target=works, daemon=True).start()
    poller, opened = select.epoll(), {listener.fileno(): listener}
    poller.register(listener.fileno(), select.EPOLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor == listener.fileno():
                connection, _ = listener.accept()
                opened[connection.fileno()] = connection
                poller.register(connection.fileno(), select.EPOLLIN)
            elif head(opened[descriptor]):
                jobs.put(opened[descriptor])
            else:
                opened.pop(descriptor).close()


def waits_for_a_worker(work: Callable[[], object]) -> Serve:
    """Return what gives each request to the one worker there is, and waits until that has done it."""
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


def asks_by_a_loop(upstream_port: int, *, helper: bool, late_seconds: float = 0) -> Serve:
    """Return what asks an upstream for each request, and leaves the answer to a thread that waits for those of all.

    `helper`: that one gives it to a third thread, which wakes who serves the request, so long after it.
    """
    poller = select.epoll()
    waiting: dict[int, tuple[socket.socket, threading.Event]] = {}
    answered: queue.SimpleQueue[threading.Event] = queue.SimpleQueue()

    def waits() -> None:
        while True:
            for descriptor, _ in poller.poll():
                upstream, done = waiting[descriptor]
                upstream.recv(100)
                answered.put(done) if helper else done.set()

    def helps() -> None:
        while True:
            done = answered.get()
            if late_seconds:
                time.sleep(late_seconds)
            done.set()

    def serve(connection: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", upstream_port)) as upstream:
            poller.register(upstream.fileno(), 0)
            while request := head(connection):
                done = threading.Event()
                waiting[upstream.fileno()] = upstream, done
                upstream.sendall(request)
                poller.modify(upstream.fileno(), select.EPOLLIN | select.EPOLLONESHOT)
                done.wait()
                connection.sendall(OK)

    threading.Thread(target=waits, name="waits", daemon=True).start()
    threading.Thread(target=helps, name="helps", daemon=True).start()
    return serve


def until_news(listener: socket.socket) -> None:
    """Answer nobody until somebody asks for /news: then all."""
    news = threading.Condition()

    def serve(connection: socket.socket) -> None:
        while request := head(connection):
            with news:
                if b"/news" in request:
                    news.notify_all()
                else:
                    news.wait()
            connection.sendall(OK)

    thread_each(listener, serve)


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

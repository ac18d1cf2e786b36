"""What servers of live tests do: a process imports this and makes one call (class Server).  Only the standard library.

Each prints its address, then serves until it is ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import queue
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
END = b"\r\n\r\n"

Serve = Callable[[socket.socket], None]


def mount_apart(place: str, mounts: list[tuple[str, str, str]]) -> None:
    """Mount in a namespace of its own: of each its type, source and options."""
    library = ctypes.CDLL(None, use_errno=True)
    new_namespace, private = 0x20000, 0x44000

    def done(status: int) -> None:
        if status:
            raise OSError(ctypes.get_errno(), "cannot mount")

    done(library.unshare(new_namespace))
    done(library.mount(b"none", b"/", None, ctypes.c_ulong(private), None))
    for type_, source, options in mounts:
        words = (source.encode(), place.encode(), type_.encode())
        done(library.mount(*words, ctypes.c_ulong(0), options.encode()))


def listening(backlog: int = 4096, path: str = "") -> socket.socket:
    """Return a socket that listens."""
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen(backlog)
    print(path or listener.getsockname()[1], flush=True)
    return listener


def thread_each(listener: socket.socket | Late, serve: Serve) -> None:
    """Serve each connection on a thread of its own."""

    def whole(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            serve(connection)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=whole, args=(connection,), daemon=True).start()


class Late:
    """A socket that listens, whose owner sleeps before it accepts."""

    def __init__(self, listener: socket.socket, seconds: float) -> None:
        self.listener, self.seconds = listener, seconds

    def accept(self) -> tuple[socket.socket, object]:
        """Accept one connection, late."""
        time.sleep(self.seconds)
        return self.listener.accept()


def one_after_another(listener: socket.socket, serve: Serve) -> None:
    """Serve one connection at a time, on the one thread."""
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            serve(connection)


def by_one_loop(listener: socket.socket, work: Callable[[], object]) -> None:
    """Serve all connections on the one thread, each request by such work."""
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            if connection is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
            elif connection.recv(65536):
                work()
                connection.sendall(OK)
            else:
                waiting.unregister(connection)
                connection.close()


def by_helpers(listener: socket.socket, work: Callable[[], object], path: str = "/", helpers: int = 1) -> None:
    """Serve all connections on the one thread, but have others do the work for requests of that path."""
    tasks: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    done: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
    told = os.eventfd(0, os.EFD_NONBLOCK)

    def help_out() -> None:
        while True:
            connection = tasks.get()
            work()
            done.put(connection)
            os.eventfd_write(told, 1)

    for _ in range(helpers):
        threading.Thread(target=help_out, daemon=True).start()
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    waiting.register(told, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            connection = key.fileobj
            if not isinstance(connection, socket.socket):
                for _ in range(os.eventfd_read(told)):
                    done.get().sendall(OK)
            elif connection is listener:
                waiting.register(listener.accept()[0], selectors.EVENT_READ)
            elif asked := connection.recv(65536):
                if path.encode() in asked:
                    tasks.put(connection)
                else:
                    connection.sendall(OK)
            else:
                waiting.unregister(connection)
                connection.close()


def computes(seconds: float) -> Callable[[], None]:
    """Return work that is done when this thread has run for so long."""

    def work() -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    return work


def hashes(rounds: int) -> Callable[[], object]:
    """Return work that computes without the interpreter's lock."""
    return lambda: hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)


def logs(seconds: float) -> Callable[[], object]:
    """Return work that writes to a pipe of which one page is read each so many seconds, by another process."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    if not os.fork():
        os.close(writer)
        while os.read(reader, 4096):
            time.sleep(seconds)
        os._exit(0)
    os.close(reader)
    os.write(writer, bytes(4096))
    return lambda: os.write(writer, bytes(4096))


def behind_a_lock(seconds: float) -> Callable[[], None]:
    """Return work that needs a lock which another thread has, asleep, for so long of almost all the time."""
    lock = threading.Lock()

    def hold() -> None:
        while True:
            with lock:
                time.sleep(seconds)
            time.sleep(seconds / 100)

    def work() -> None:
        lock.acquire()
        lock.release()

    threading.Thread(target=hold, daemon=True).start()
    return work


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


def byte_first(seconds: float) -> Serve:
    """Return what waits with a read of one byte, reads the rest, and answers after so long."""

    def serve(connection: socket.socket) -> None:
        while connection.recv(1):
            connection.recv(4096)
            time.sleep(seconds)
            connection.sendall(OK)

    return serve


def into_two_buffers(connection: socket.socket) -> None:
    """Read five bytes into one buffer, which has other memory behind it, and the rest into another."""
    memory, rest = bytearray(b"?????planted/text HTTP/1.1\r\n\r\n"), bytearray(4096)
    while connection.recvmsg_into([memoryview(memory)[:5], rest])[0]:
        connection.sendall(OK)


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


def keeps(path: str, header: bytes) -> Serve:
    """Return what makes each request safe in a file, whole, and answers with such a header."""

    def serve(connection: socket.socket) -> None:
        while request := head(connection):
            with open(path, "ab") as journal:
                journal.write(request)
                journal.flush()
                os.fdatasync(journal.fileno())
            connection.sendall(OK.replace(b"OK\r\n", b"OK\r\n" + header + b"\r\n"))

    return serve


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


def by_program(command: list[str], *, reads: bool) -> Serve:
    """Return what runs a program for each request, and waits for its end or `reads` what it prints until then."""

    def serve(connection: socket.socket) -> None:
        while head(connection):
            with subprocess.Popen(
                command, stdout=subprocess.PIPE if reads else None, stderr=subprocess.DEVNULL
            ) as child:
                child.communicate()
            connection.sendall(OK)

    return serve


def but_never(path: str) -> Serve:
    """Return what answers each request at once, but those for that path never."""

    def serve(connection: socket.socket) -> None:
        while asked := head(connection):
            if path.encode() not in asked:
                connection.sendall(OK)

    return serve

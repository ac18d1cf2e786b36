"""Asks at a constant rate, whatever the answers take, and notes each request for the row's requests.log."""

import json
import queue
import signal
import socket
import threading
import time
import urllib.parse


class Stopped(Exception):
    """The recording is over."""


def _stop(*_):
    raise Stopped


def run(open_client, rate, duration_ms, workers, log="requests.log", burst=1):
    """open_client() -> a function that makes one request; burst of them are due at once, at that mean rate."""
    signal.signal(signal.SIGINT, _stop)
    due_times: queue.SimpleQueue = queue.SimpleQueue()
    notes, errors = [], []

    def work():
        client = open_client()
        while True:
            due = due_times.get()
            start = time.time_ns()
            try:
                client()
            except Exception as error:  # whatever it is, the request has failed
                errors.append(f"{type(error).__name__}: {error}")
                client = open_client()
            end = time.time_ns()
            notes.append((due, end - due, end - start))

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    begin = time.time_ns()
    count = int(rate * duration_ms / 1000)
    try:
        for number in range(count):
            due = begin + int(number // burst * burst / rate * 1e9)
            wait = (due - time.time_ns()) / 1e9
            if wait > 0:
                time.sleep(wait)
            due_times.put(due)
    except Stopped:
        pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    patience = time.monotonic() + 3
    while time.monotonic() < patience and not due_times.empty():
        time.sleep(0.05)
    done = sorted(notes)
    with open(log, "w", encoding="ascii") as file:
        file.writelines(f"{due} {took} {service}\n" for due, took, service in done)
    took = sorted(note[1] for note in done) or [0]
    numbers = {"requests": len(done), "errors": len(errors)}
    numbers |= {f"p{p}_ns": took[min(len(took) - 1, len(took) * p // 100)] for p in (50, 90, 99)}
    if errors:
        print("first error:", errors[0])
    print(json.dumps(numbers), flush=True)


def http(port, path="/", fresh=False, headers="", body=None, host="127.0.0.1", timeout=60):
    """A client that GETs, or POSTs a body; over one connection unless fresh."""
    data = (body or "").encode()
    method = "GET" if body is None else "POST"
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(data)}\r\n"
    message = (head + ("Connection: close\r\n" if fresh else "") + "\r\n").encode() + data

    def open_client():
        kept = []

        def request():
            if not kept:
                kept.append(socket.create_connection((host, port), timeout))
                kept.append(kept[0].makefile("rb"))
            connection, answers = kept
            connection.sendall(message)
            status = answers.readline().split()
            if not status or status[1][:1] not in b"23":
                raise OSError(f"status {status}")
            length, closes = None, fresh
            while (line := answers.readline()) not in (b"\r\n", b""):
                name, _, value = line.lower().partition(b":")
                if name == b"content-length":
                    length = int(value)
                closes |= name == b"connection" and value.strip() == b"close"
            if length is not None:
                answers.read(length)
            elif closes:
                answers.read()
            else:
                while size := int(answers.readline(), 16):
                    answers.read(size + 2)
                answers.readline()
            if closes:
                kept.clear()
                answers.close()
                connection.close()

        return request

    return open_client


quote = urllib.parse.quote

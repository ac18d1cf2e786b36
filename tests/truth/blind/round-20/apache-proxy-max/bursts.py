"""bursts.py PORT EVERY_MS COUNT: asks for so many parts of a page at once, again and again, as a browser does."""

import http.client
import signal
import sys
import threading
import time

stop = threading.Event()
noted: list[tuple[int, int]] = []


def ask(due_ns: int) -> None:
    """Ask once, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.request("GET", "/part")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read()
    connection.close()
    noted.append((due_ns, time.time_ns() - due_ns))


signal.signal(signal.SIGINT, lambda *_: stop.set())
threads = []
while not stop.wait(int(sys.argv[2]) / 1000):
    burst = [threading.Thread(target=ask, args=(time.time_ns(),)) for _ in range(int(sys.argv[3]))]
    for thread in burst:
        thread.start()
    threads += burst
for thread in threads:
    thread.join()
with open("requests.log", "w") as log:
    log.writelines(f"{due} {took} {took}\n" for due, took in sorted(noted))

"""uploads.py PORT RATE BYTES: uploads that many bytes so often a second, and notes what it took in requests.log."""

import http.client
import signal
import sys
import threading
import time

stop = threading.Event()
noted: list[tuple[int, int]] = []
body = b"x" * int(sys.argv[3])


def upload(due_ns: int) -> None:
    """Upload once, over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.request("POST", "/", body)
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read() == f"{len(body)} bytes\n".encode()
    connection.close()
    noted.append((due_ns, time.time_ns() - due_ns))


signal.signal(signal.SIGINT, lambda *_: stop.set())
threads = []
while not stop.wait(1 / float(sys.argv[2])):
    threads.append(threading.Thread(target=upload, args=(time.time_ns(),)))
    threads[-1].start()
for thread in threads:
    thread.join()
with open("requests.log", "w") as log:
    log.writelines(f"{due} {took} {took}\n" for due, took in sorted(noted))

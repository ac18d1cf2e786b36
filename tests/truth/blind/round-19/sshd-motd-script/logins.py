"""logins.py PORT GAP_MS: runs a command over ssh every so many milliseconds, and notes what it took."""

import signal
import subprocess
import sys
import threading
import time

OPTIONS = ["-q", "-F", "none", "-i", "key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
stop = threading.Event()
noted: list[tuple[int, int]] = []


def login(due_ns: int) -> None:
    """Log in, run a command, and log out."""
    subprocess.run(["ssh", *OPTIONS, "-p", sys.argv[1], "root@127.0.0.1", "true"], check=True, stdin=subprocess.DEVNULL)
    noted.append((due_ns, time.time_ns() - due_ns))


signal.signal(signal.SIGINT, lambda *_: stop.set())
threads = []
while not stop.wait(int(sys.argv[2]) / 1000):
    threads.append(threading.Thread(target=login, args=(time.time_ns(),)))
    threads[-1].start()
for thread in threads:
    thread.join()
with open("requests.log", "w") as log:
    log.writelines(f"{due} {took} {took}\n" for due, took in sorted(noted))

"""put.py PORT MS RATE: puts small files onto a share by one smbclient, and notes what each took in requests.log."""

import signal
import subprocess
import sys
import time
from pathlib import Path

stopped = False


def stop(*_: object) -> None:
    global stopped
    stopped = True


signal.signal(signal.SIGINT, stop)
Path("small").write_text("scanned page\n")
client = subprocess.Popen(
    ["smbclient", "-s", "smb.conf", "-p", sys.argv[1], "-N", "//127.0.0.1/scans"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    start_new_session=True,
)
noted = []
begin_ns = time.time_ns()
number = 0
while not stopped and time.time_ns() < begin_ns + int(sys.argv[2]) * 1_000_000:
    due_ns = begin_ns + int(number * 1e9 / float(sys.argv[3]))
    time.sleep(max(0, due_ns - time.time_ns()) / 1e9)
    number += 1
    sent_ns = time.time_ns()
    client.stdin.write(b"put small new-%d.tif\n" % number)
    client.stdin.flush()
    while b"putting file" not in (line := client.stdout.readline()):
        assert line and b"NT_STATUS" not in line, line
    ended_ns = time.time_ns()
    noted.append((due_ns, ended_ns - due_ns, ended_ns - sent_ns))
client.stdin.close()
client.wait()
with open("requests.log", "w") as log:
    log.writelines(f"{due} {waited} {served}\n" for due, waited, served in noted)

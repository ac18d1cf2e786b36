"""browser.py PORT: opens a connection in advance, as browsers do, says nothing for 0.3 s, and closes it; again."""

import socket
import sys
import time

while True:
    try:
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    except ConnectionRefusedError:
        time.sleep(0.1)
        continue
    time.sleep(0.3)
    connection.close()
    time.sleep(0.1)

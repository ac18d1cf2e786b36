"""PORT: an SFTP server for each connection."""

import socket
import subprocess
import sys

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection:
            subprocess.Popen(["/usr/lib/openssh/sftp-server"], stdin=connection, stdout=connection)

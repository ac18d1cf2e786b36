"""service.py PORT: looks up where the members of a pool are, and asks none of them."""

import socket
import sys

from server import serve

serve(int(sys.argv[1]), lambda path: socket.getaddrinfo("pool.example.test", 80, socket.AF_INET, socket.SOCK_STREAM))

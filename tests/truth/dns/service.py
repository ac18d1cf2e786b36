"""Every request looks up a name: service.py PORT."""

import socket
import sys

from server import serve


def look_up(path: str) -> None:
    """Ask for the address of a backend, as one does before one connects."""
    socket.getaddrinfo("backend.example.com", 80, socket.AF_INET, socket.SOCK_STREAM)


serve(int(sys.argv[1]), look_up)

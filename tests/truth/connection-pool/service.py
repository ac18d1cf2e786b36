"""Threads that share connections to an upstream: service.py PORT UPSTREAM CONNECTIONS."""

import http.client
import queue
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, UPSTREAM, CONNECTIONS = map(int, sys.argv[1:4])
connections: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()


class Handler(BaseHTTPRequestHandler):
    """Asks the upstream for each request, when a connection is free."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        connection = connections.get(timeout=30)
        try:
            connection.request("GET", "/")
            body = connection.getresponse().read()
        finally:
            connections.put(connection)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Nothing is logged."""


class Server(ThreadingHTTPServer):
    """One thread for each connection of a client."""

    request_queue_size = 128


for _ in range(CONNECTIONS):
    connections.put(http.client.HTTPConnection("127.0.0.1", UPSTREAM))
Server(("127.0.0.1", PORT), Handler).serve_forever()

"""A throw-away nginx of one worker with one small file, and wrk against it: each has a CPU of its own."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.empty import Missing
from bench.processes import PATIENCE_SECONDS, running

CONNECTIONS = 32
CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid {directory}/pid; error_log {directory}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; open_file_cache max=16;
  client_body_temp_path {directory}; proxy_temp_path {directory}; fastcgi_temp_path {directory};
  uwsgi_temp_path {directory}; scgi_temp_path {directory};
  server {{ listen 127.0.0.1:{port}; root {directory}; }}
}}
"""
_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Load:
    """What wrk saw."""

    per_second: float
    p99_s: float


@dataclass(frozen=True)
class Nginx:
    """The server, and where it answers."""

    pid: int
    url: str

    def ask(self, seconds: int) -> Load:
        """Let wrk ask for the file, as fast as it comes."""
        command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", self.url]
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout
        rate, p99 = re.search(r"Requests/sec:\s+([0-9.]+)", said), re.search(r"99%\s+([0-9.]+)(us|ms|s)", said)
        if not rate or not p99 or "Non-2xx" in said or "Socket errors" in said:
            raise RuntimeError(f"wrk: {said}")
        return Load(float(rate[1]), float(p99[1]) * _UNITS_S[p99[2]])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def nginx(scratch: Path) -> Iterator[Nginx]:
    """The server runs inside the block.  Raises Missing where there is none, or no second CPU for who asks it."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not program or not shutil.which("wrk"):
        raise Missing("nginx, wrk: apt-get install nginx wrk")
    if len(os.sched_getaffinity(0)) < 2:
        raise Missing("two CPUs: one for nginx, one for wrk")
    directory = scratch / "nginx"
    directory.mkdir()
    (directory / "file").write_bytes(b"x" * 612)
    port = _free_port()
    (directory / "nginx.conf").write_text(f"user root;{CONFIGURATION.format(directory=directory, port=port)}")
    with running(
        ["taskset", "-c", "0", program, "-e", directory / "errors", "-c", directory / "nginx.conf"]
    ) as process:
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError("nginx does not answer") from None
                time.sleep(0.05)
        yield Nginx(process.pid, f"http://127.0.0.1:{port}/file")


__all__ = ["CONNECTIONS", "Load", "Nginx", "nginx"]

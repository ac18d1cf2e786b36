"""Lines of a file that anybody may have made: no line takes more memory than a bound, and what is packed is named."""

from collections.abc import Iterator
from typing import IO

from perfdiag.common.errors import PerfdiagError

LONGEST_BYTES = 64 << 20  # a file with a longer line is none of lines
_PIECE_BYTES = 1 << 20
_UNPACKERS = {b"\x28\xb5\x2f\xfd": "zstd -d", b"\x1f\x8b": "gunzip", b"\xfd7zXZ": "unxz", b"BZh": "bunzip2"}


def unpacker(begin: bytes) -> str | None:
    """Return the command that unpacks a file with this beginning; None: it is not packed."""
    return next((command for magic, command in _UNPACKERS.items() if begin.startswith(magic)), None)


def beginnings(stream: IO[bytes], kept_bytes: int, name: str) -> Iterator[bytes]:
    """Yield of each line at most its first `kept_bytes`, with what ends it if that is among them.

    Raises PerfdiagError where a line does not end, or the file is packed; OSError as the file does.
    """
    number = 0
    while line := stream.readline(kept_bytes):
        number += 1
        command = unpacker(line) if number == 1 else None
        if command:
            raise PerfdiagError(f"{name} is compressed", f"decompress it first: {command} FILE")
        yield line
        seen_bytes = len(line)
        while line and not line.endswith(b"\n"):
            line = stream.readline(_PIECE_BYTES)
            seen_bytes += len(line)
            if seen_bytes > LONGEST_BYTES:
                raise PerfdiagError(
                    f"cannot read {name}: line {number} is longer than {LONGEST_BYTES >> 20} MiB",
                    "give a file of lines",
                )

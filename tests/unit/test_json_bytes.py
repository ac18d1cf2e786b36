"""Whatever bytes the target put into a name: the recorder's line is JSON, ASCII, and decodes as Python would."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unit.support.c_programs import FLAVOURS, build, environment

# Random bytes seldom come near UTF-8: mix in starts and ends of sequences at the edges of what is valid.
EDGES = st.sampled_from(
    [bytes([b]) for b in (0x00, 0x1B, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF)]
    + [bytes([b]) for b in (0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF)]
)
BYTES = st.one_of(
    st.binary(max_size=64),
    st.lists(EDGES, max_size=24).map(b"".join),
    st.text(max_size=32).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(max_size=16).map(lambda text: text.encode("utf-8", "surrogatepass")[:15]),
)


class Writer:
    """A running json_lines program: bytes in, a line out."""

    def __init__(self, flavour: str) -> None:
        self.process = subprocess.Popen(
            [build("json_lines", flavour)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )

    def line(self, value: bytes) -> bytes:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(struct.pack("=I", len(value)) + value)
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def close(self) -> int:
        self.process.communicate()
        return self.process.returncode


@pytest.fixture(scope="module", params=FLAVOURS)
def writer(request: pytest.FixtureRequest) -> Iterator[Writer]:
    started = Writer(request.param)
    yield started
    assert started.close() == 0


@settings(max_examples=1500, deadline=None)
@given(value=BYTES)
def test_any_bytes_become_a_valid_line(writer: Writer, value: bytes) -> None:
    line = writer.line(value)
    assert line.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line[:-1]), "only printable ASCII"
    assert json.loads(line) == {"type": "bytes", "value": value.decode("utf-8", "replace")}


def test_every_pair_of_bytes_after_every_start(writer: Writer) -> None:
    """Exhaustive where it matters: all second and third bytes at the edges of their ranges."""
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    for first in range(0x80, 0x100):
        value = b"".join(bytes([first, second, third]) for second in edges for third in edges)
        assert json.loads(writer.line(value))["value"] == value.decode("utf-8", "replace")

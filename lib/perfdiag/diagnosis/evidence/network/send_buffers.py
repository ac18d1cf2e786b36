"""Send buffers that hold less than the way to the other end does, and answers that wait for room in them."""

from collections.abc import Iterable

from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.facts.texts import words_of
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange

MOSTLY = 0.5  # of the time with full buffers


def kept_by_buffer(answers: Iterable[Exchange]) -> bool:
    """Return whether most of the time it was the size of the send buffer that kept answers: the client's window and the
    congestion window had room."""
    lines = [each.line for each in answers]
    whole_ns = sum(line.untaken_ns or 0 for line in lines)
    return whole_ns > 0 and sum(line.untaken_buffer_ns or 0 for line in lines) >= MOSTLY * whole_ns


def kept_by_way(answers: Iterable[Exchange]) -> bool:
    """Return whether it was congestion on the way, or the begin of a connection; False where that was not measured."""
    lines = [each.line for each in answers]
    measured = [line for line in lines if line.untaken_window_ns is not None and line.untaken_buffer_ns is not None]
    whole_ns = sum(line.untaken_ns or 0 for line in lines)
    kept_ns = sum(
        (line.untaken_ns or 0) - (line.untaken_window_ns or 0) - (line.untaken_buffer_ns or 0) for line in measured
    )
    return whole_ns > 0 and kept_ns >= MOSTLY * whole_ns


def larger_buffer(model: Model) -> Remedy:
    """Return the remedy for a send buffer that is too small for the way."""
    present = " ".join(words_of(model.facts.sysctl("net/ipv4/tcp_wmem")))
    sized = f" up to the third value of net.ipv4.tcp_wmem (present {plain(present)})" if present else ""
    return fix(
        "let the program ask for a larger send buffer (SO_SNDBUF; nginx: sndbuf= of listen), or none so that the kernel"
        f" sizes it{sized}"
    )

"""What processes outside of the target were in while it waited for them: a second view on waits of its rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfdiag.recording import schema


@dataclass(frozen=True)
class PeerWait:
    """One line of it, with what was waited for at its end in words."""

    line: schema.PeerWait
    root_object: str  # "vda (254:0)", "" where the account has no object


def peer_waits(lines: Iterable[schema.PeerWait], resolve: Callable[[str], str]) -> list[PeerWait]:
    """Return them, the longest first; resolve: an object for people."""
    ordered = sorted(lines, key=lambda line: (-line.sum_ns, line.object, line.root, line.root_object, line.peer_pid))
    return [PeerWait(line, resolve(line.root_object) if line.root_object else "") for line in ordered]

"""What processes outside of the target were in while it waited for them: a second view on waits of its rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from perfdiag.recording import schema


@dataclass(frozen=True)
class PeerWait:
    """One line of it, with what was waited for at its end in words."""

    line: schema.PeerWait
    root_object: str  # "vda (254:0)", "" where the account has no object


def peer_waits(
    lines: Iterable[schema.PeerWait], resolve: Callable[[str], str], objects: Iterable[str] = ()
) -> list[PeerWait]:
    """Return them, the longest first; resolve: an object for people.

    A process that had ended when the lines were written has no name there. `objects` of other waits may tell it: the
    target met it on a CPU.
    """
    met = dict(map(_met, objects))
    named = (_named(line, met) for line in lines)
    ordered = sorted(named, key=lambda line: (-line.sum_ns, line.object, line.root, line.root_object, line.peer_pid))
    return [PeerWait(line, resolve(line.root_object) if line.root_object else "") for line in ordered]


def _met(object: str) -> tuple[str, str]:
    """Return thread and name of "task:4121:python"; of anything else what no thread is called."""
    kind, _, rest = object.partition(":")
    tid, _, comm = rest.partition(":")
    return (tid, comm) if kind == "task" else ("", "")


def _named(line: schema.PeerWait, met: Mapping[str, str]) -> schema.PeerWait:
    if line.peer_comm:
        return line
    return msgspec.structs.replace(line, peer_comm=met.get(str(line.peer_pid), ""))

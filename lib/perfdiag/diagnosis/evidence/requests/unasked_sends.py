"""Servers most of whose sending answers nobody: news to those who listen, such as subscribers and monitors."""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, size
from perfdiag.model.model import Model


@dataclass(frozen=True)
class Unasked:
    """What was sent without being an answer, and the answers."""

    count: int
    bytes: int
    connections: int  # that got several
    rate: float  # bytes a second
    answers: int
    answers_bytes: int

    @property
    def listeners(self) -> str:
        """Return to whom it was sent: "60 connections that asked nothing"."""
        return f"{plural(self.connections, 'connection')} that asked nothing"

    @property
    def told(self) -> str:
        """Return "60 connections that asked nothing get most of what it sends, 137 MiB/s"."""
        get = "gets" if self.connections == 1 else "get"
        return f"{self.listeners} {get} most of what it sends, {size(round(self.rate))}/s"

    @property
    def evidence(self) -> Evidence:
        """Return the numbers."""
        text = (
            f"{self.count:,} sends of {size(self.bytes)} to {self.listeners}; {size(self.answers_bytes)} in"
            f" {self.answers:,} answers"
        )
        return Evidence(text, float(self.bytes), "bytes", "sockets")

    @property
    def remedy(self) -> Remedy:
        """Return what spares the target that."""
        return fix(
            "see who listens (ss -tnpi: those with the most bytes_sent), and let fewer listen, or send them less:"
            " monitors, subscribers of everything, replicas"
        )


def mostly_unasked(model: Model) -> Unasked | None:
    """Return what was sent unasked, if that is most of what the target sends to its clients, by number and by bytes;
    None if not, or not known."""
    inside, seconds = model.requests_inside, model.window_ns / 1e9
    if inside is None or not inside.unasked or not inside.unasked_connections or not seconds:
        return None
    served = [each.line for each in model.exchanges if each.served]
    answers, answers_bytes = sum(line.count for line in served), sum(line.bytes_out for line in served)
    sent = inside.unasked_bytes or 0
    least = requests_policy.mostly_unasked_share
    if inside.unasked < least * (inside.unasked + answers) or sent < least * (sent + answers_bytes):
        return None
    return Unasked(inside.unasked, sent, inside.unasked_connections, sent / seconds, answers, answers_bytes)

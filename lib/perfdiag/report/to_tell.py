"""The sentence of a verdict with a command that tells more: a report shows the command in a line of its own."""

from __future__ import annotations


class ToTell(str):
    """Such a sentence, which knows its command."""

    __slots__ = ("command",)
    command: str


def to_tell(command: str) -> ToTell:
    """Return the sentence with a command: "To tell: jstack 100."."""
    sentence = ToTell(f"To tell: {command}.")
    sentence.command = command
    return sentence


__all__ = ["ToTell", "to_tell"]

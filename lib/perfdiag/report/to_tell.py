"""The sentence of a verdict with a command that would tell more, which a report shows on a line of its own."""


class ToTell(str):
    """A sentence with a command."""

    __slots__ = ("command",)
    command: str


def to_tell(command: str) -> ToTell:
    """Return the sentence with a command: "To tell: jstack 100."."""
    sentence = ToTell(f"To tell: {command}.")
    sentence.command = command
    return sentence

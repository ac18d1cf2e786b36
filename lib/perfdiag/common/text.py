"""Names from the target are hostile bytes; this module makes them safe to print."""

import codecs
import os
import re
import shlex
from collections.abc import Sequence

codecs.lookup("unicode_escape")  # Python imports codecs when they are first used: root may be given up by then


# What Python takes for printable, and a terminal shows as nothing or as a blank: joiners and selectors, fillers of
# Hangul and Khmer, and Braille without a dot.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
LONGEST_TYPED = 500  # characters: of four bytes each they fit into ASKED_BYTES of the recorder
NO_NAME = "(no name)"  # of a process or thread that gave itself an empty one
NAME_NOT_KEPT = "(name not kept)"  # it has one, which found no room in the recording
_MAPPED = "[::ffff:"  # how an IPv4 address begins that an IPv6 socket has


def printable(name: str | bytes, limit: int = 200) -> str:
    """Return `name` without anything a terminal would obey, or not show: control, format, invisible and undecodable
    characters escaped.

    Longer names are cut to `limit` characters and end in "...".  Rich markup is not escaped here: whoever prints
    with rich passes `Text`, never markup.
    """
    text = os.fsdecode(name) if isinstance(name, bytes) else name
    shown = whole(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def whole(text: str) -> str:
    """Return a text as `printable` does, however long it is; printable text stays as it is."""
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() and not _INVISIBLE.match(character):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def named(comm: str, number: int) -> str:
    """Return a thread or process with its tid or pid: "postgres (4711)"."""
    return f"{printable(comm)} ({number})"


def typed_path(path: str) -> str:
    """Return a path as typed in a shell, safe to print; no command takes it for an option."""
    path = f"./{path}" if path.startswith("-") else path
    return shlex.quote(path) if path == whole(path) else f"$'{''.join(map(_escaped, path))}'"


def _escaped(character: str) -> str:
    """Return a character as it stands in $'...'."""
    if character in "\\'":
        return f"\\{character}"
    if character == whole(character):
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def typed(words: Sequence[str]) -> str:
    """Return words as typed in a shell, safe to print; words without room are only hinted at."""
    quoted = [shlex.quote(whole(word)) for word in words]
    text = " ".join(quoted)
    while len(text) > LONGEST_TYPED:  # no word without its end: a quote would stay open
        quoted.pop()
        text = " ".join([*quoted, "..."])
    return text


def endpoint(text: str) -> str:
    """Return an address and port as people write it: of an IPv6 socket with an IPv4 address, "[::ffff:10.0.0.1]:80",
    that is "10.0.0.1:80"."""
    return text.removeprefix(_MAPPED).replace("]", "", 1) if text.startswith(_MAPPED) else text

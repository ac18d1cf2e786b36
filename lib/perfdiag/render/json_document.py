"""A report as one JSON document."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from perfdiag.common.text import whole

_STEP = 100  # entries of a list that are made at once


def render(report: msgspec.Struct) -> bytes:
    """Return the document, indented, with a newline at its end; no text in it can control a terminal."""
    return b"".join(pieces(report))


def pieces(report: msgspec.Struct) -> Iterator[bytes]:
    """Yield the document in pieces, so that one of thousands of threads takes no more memory than a small one."""
    separator = b"{\n  "
    for field in msgspec.structs.fields(report):
        value = getattr(report, field.name)
        yield separator + msgspec.json.encode(field.encode_name) + b": "
        yield from _list(value) if isinstance(value, list) and value else [_indented(value)]
        separator = b",\n  "
    yield b"\n}\n"


def _list(values: list[object]) -> Iterator[bytes]:
    for start in range(0, len(values), _STEP):
        text = _indented(values[start : start + _STEP])
        yield (b"," if start else b"[") + text[1 : -len(b"\n  ]")]
    yield b"\n  ]"


def _indented(value: object) -> bytes:
    text = msgspec.json.encode(_escaped(msgspec.to_builtins(value, enc_hook=plain)))
    return msgspec.json.format(text, indent=2).replace(b"\n", b"\n  ")


def plain(value: Any) -> Any:
    """Return a packed value in its plain form."""
    if isinstance(value, Mapping):
        return dict(value.items())
    raise NotImplementedError


def _escaped(value: Any) -> Any:
    """Return a value whose texts are printable, so that a new field of a report is, too."""
    match value:
        case str():
            return whole(value)
        case dict():
            return {whole(str(name)): _escaped(each) for name, each in value.items()}
        case list() | tuple():
            return [_escaped(each) for each in value]
    return value

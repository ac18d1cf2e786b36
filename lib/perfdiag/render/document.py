"""The report as one JSON document."""

from __future__ import annotations

import msgspec

from perfdiag.report import Report


def render(report: Report) -> bytes:
    """Return the document, indented, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


__all__ = ["render"]

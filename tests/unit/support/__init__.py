"""What unit tests share.  `from unit.support import Builder`."""

from __future__ import annotations

from unit.support.recording import Builder

__all__ = ["Builder"]

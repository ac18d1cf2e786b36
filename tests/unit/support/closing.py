"""Things that a `with` ends by their close()."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

Self = TypeVar("Self", bound="Closing")


class Closing:
    """What has a close()."""

    def close(self) -> None:
        """End it, whatever it is doing."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


__all__ = ["Closing"]

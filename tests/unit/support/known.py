"""Host facts of which only some fields are known: `blank(CpuGroup, path="/a", weight=100)`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def blank(kind: type[T], /, **known: Any) -> T:
    """Return a dataclass of facts in which everything not given is unknown (None)."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unheard = known.keys() - set(names)
    if unheard:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unheard))}")
    return kind(**(dict.fromkeys(names) | known))


__all__ = ["blank"]

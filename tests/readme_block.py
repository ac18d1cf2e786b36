"""The parts of the README that a command writes: each stands between two marks."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def replace_block(begin: str, end: str, block: str) -> None:
    """Put a block, which has its marks, in the place of the one that stands there.

    Raises ValueError if the README does not have both marks.
    """
    before, _, rest = README.read_text().partition(begin)
    _, _, after = rest.partition(end)
    if not (rest and after):
        raise ValueError(f"README.md has no {begin.strip()} and {end.strip()}")
    README.write_text(before + block + after)


__all__ = ["README", "replace_block"]

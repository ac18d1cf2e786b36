"""Manual pages that are made from the headers of scripts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from perfdiag.documents import script_header, script_page


def check_pages(
    scripts: Sequence[Path], told: Callable[[script_header.Header], Iterable[str]], directory: Path
) -> None:
    """Make the pages of all scripts of a folder: without a warning, and each with what its header tells."""
    pages = script_page.write(scripts[0].parent, directory)
    assert [made.name for made in pages] == [f"perfdiag-{path.name}.8" for path in scripts]
    warned = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True).stdout
    assert warned == ""
    for made, path in zip(pages, scripts, strict=True):
        shown = subprocess.run(["mandoc", "-T", "ascii", made], capture_output=True, text=True, check=True).stdout
        letters = "".join(re.sub(".\b", "", shown).split()).lower()
        for text in told(script_header.parse(path)):
            assert "".join(text.split()).lower() in letters, text


__all__ = ["check_pages"]

"""Check the English that users read against the phrases of rules/*.weir: `make lint-prose`."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from prose.texts import MARK, ROOT, Text, texts

RULES = Path(__file__).parent / "rules"
EXCEPTIONS = Path(__file__).parent / "exceptions.txt"
OUTPUT = ROOT / "build/prose"
HARPER = Path(sys.executable).parent / "harper"
MANIFEST = {"author": "perfdiag", "version": "1", "description": "Phrases of ours", "license": "GPL-2.0-only"}

Lint = dict[str, Any]


def pack_rules() -> Path:
    """Write the archive of rules that harper loads."""
    path = OUTPUT / "perfdiag.weirpack"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        for rule in sorted(RULES.glob("*.weir")):
            archive.write(rule, rule.name)
    return path


def lint(all_texts: list[Text]) -> dict[str, list[Lint]]:
    """Return what harper found, by the source of the text."""
    for number, text in enumerate(all_texts):
        (OUTPUT / f"{number}.txt").write_text("\n".join(line.text for line in text.lines) + "\n")
    only = ",".join(sorted(rule.stem for rule in RULES.glob("*.weir")))
    command: list[str | Path] = [
        HARPER,
        "lint",
        "--only",
        only,
        "--weirpacks",
        pack_rules(),
        "--format",
        "json",
        "--quiet",
    ]
    command += [OUTPUT / f"{number}.txt" for number in range(len(all_texts))]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        documents = json.loads(result.stdout)
    except json.JSONDecodeError:
        sys.exit(f"lint-prose: harper failed:\n{result.stderr[-2000:]}")
    found: dict[str, list[Lint]] = defaultdict(list)
    for document in documents:
        text = all_texts[int(Path(document["file"]).stem)]
        found[text.source] += [{**each, "at": text.lines[each["line"] - 1]} for each in document["lints"]]
    return found


def exceptions() -> set[str]:
    """Return the sources that may still fail."""
    lines = EXCEPTIONS.read_text().splitlines() if EXCEPTIONS.exists() else []
    return {line.split("#")[0].strip() for line in lines} - {""}


def forget(passing: set[str]) -> None:
    """Take the sources that pass off the list of exceptions."""
    lines = EXCEPTIONS.read_text().splitlines(keepends=True)
    EXCEPTIONS.write_text("".join(line for line in lines if line.split("#")[0].strip() not in passing))


def main(arguments: list[str]) -> int:
    """Print each phrase that a rule names, and return the exit status."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    found = {source: lints for source, lints in lint(texts()).items() if lints}
    excepted = exceptions()
    passing = excepted - set(found)
    complaints = []
    if "--update" in arguments:
        forget(passing)
    elif passing:
        listed = "\n    ".join(sorted(passing))
        complaints.append(
            f"these pass: make lint-prose ARGS=--update takes them off the list of exceptions\n    {listed}"
        )
    for source, lints in sorted(found.items()):
        if source in excepted and "--all" not in arguments:
            continue
        for each in sorted(lints, key=lambda each: each["at"].number):
            line = each["at"]
            shown, phrase = (text.replace(MARK + " ", "") for text in (line.text, each["matched_text"]))
            complaints.append(f'{source}:{line.number}: "{phrase}": {each["message"]}\n    {shown}')
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

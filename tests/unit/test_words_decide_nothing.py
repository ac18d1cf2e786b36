"""No decision reads a sentence: what is decided about a finding asks its fields, never its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "lib/perfdiag"
MODULES = sorted(
    path
    for room in ("diagnosis", "report", "render", "commands", "documents")
    for path in (PACKAGE / room).rglob("*.py")
)
# Fields that hold sentences, and `probe`, which says for people where a number was measured.
SENTENCES = frozenset({"claim", "headline", "probe", "sentence", "sentences", "ruled_out", "alternatives", "limits"})
READS = frozenset({
    *("split", "rsplit", "partition", "rpartition", "splitlines", "startswith", "endswith", "find", "index", "count"),
    *("removeprefix", "removesuffix", "replace", "strip", "lstrip", "rstrip"),
})  # fmt: skip


def reads(source: str) -> list[str]:
    """Return where a module searches, parts or compares a sentence: "12: finding.claim"."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for part in _read(node):
            for each in ast.walk(part):
                if isinstance(each, ast.Attribute) and each.attr in SENTENCES and not _is_called(each, part):
                    found.append(f"{each.lineno}: {ast.unparse(each)}")
    return sorted(set(found))


def _read(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a node looks into: operands of comparisons, texts whose parts are asked for, arguments of re."""
    if isinstance(node, ast.Compare) and not all(
        isinstance(side, ast.Constant) and not side.value for side in node.comparators
    ):
        yield from (node.left, *node.comparators)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in READS:
            yield node.func.value
        if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
            yield from node.args
        if node.func.attr in {"search", "match", "fullmatch", "findall", "finditer", "sub"}:
            yield from node.args


def _is_called(attribute: ast.Attribute, part: ast.expr) -> bool:
    """Return whether it is a function of that name: `condition_variable_herds.claim(...)`."""
    return any(isinstance(each, ast.Call) and each.func is attribute for each in ast.walk(part))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_decision_reads_a_sentence(path: Path) -> None:
    assert reads(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        'any("cannot tell" in finding.claim for finding in found)',
        'told = breach.claim.partition(";")[0]',
        'first.headline.startswith("The disk")',
        "re.search(part, finding.claim)",
        "_END.findall(verdict.sentences[0])",
        "hot = [each for each in finding.evidence if each.probe == FUNCTIONS]",
        'finding.headline.rstrip(".")',
    ],
)
def test_a_decision_by_words_is_seen(source: str) -> None:
    assert reads(source)


@pytest.mark.parametrize(
    "source",
    [
        "finding.mechanism is Mechanism.SLEEP",
        'text = f"{finding.headline} ({part})."',
        "each.kind is EvidenceKind.FUNCTIONS",
        "claim, remedies = herds.claim(name)",
        "if finding.claim: pass",
    ],
)
def test_what_uses_a_sentence_without_reading_it_is_no_decision(source: str) -> None:
    assert reads(source) == []

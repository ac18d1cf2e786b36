"""What a sentence is about: of chosen processes the target, of a whole host that host."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import perfdiag.diagnosis
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.model.model import Host

from unit.support import Builder
from unit.support.hosts import host
from unit.support.recorded import recorded

NAMED = ("the target", "The target", "this target")


def test_the_subject_goes_by_the_mode() -> None:
    chosen, whole = Builder().thread(cpu_user="1 s").model(), host(Builder().thread(cpu_user="1 s"))
    assert (subject(chosen), subject(chosen, begin=True)) == ("the target", "The target")
    assert (subject(whole), subject(whole, begin=True)) == ("this host", "This host")


def test_what_is_said_of_a_host_names_no_target() -> None:
    """Whatever the fixtures of all rules make, asked as if it were a whole host's."""
    said: set[str] = set()
    models = list(recorded().models.values())
    for model in models[:: max(1, len(models) // 150)]:
        diagnosis = diagnose(replace(model, host=Host({}, frozenset(), 0)))
        for finding in diagnosis.findings:
            said |= {finding.claim, finding.verify, *finding.limits, *finding.alternatives, *finding.ruled_out}
            said |= {each.text for each in finding.evidence} | {each.text for each in finding.remedies}
        said |= {check.text for check in diagnosis.checks} | {silence.reason for silence in diagnosis.silences}
    assert len(said) > 300
    assert sorted(text for text in said if any(name in text for name in NAMED)) == []


def test_sentences_take_their_subject_from_one_place() -> None:
    """Outside what explains a rule or a threshold, whose subject is any target."""
    own = {"fd_exhaustion.py", "net_self_slow.py", "target.py", "precedence.py"}  # processes only, the place, reasons
    found = []
    for path in sorted(Path(perfdiag.diagnosis.__file__).parent.rglob("*.py")):
        for node in () if path.name in own or path.parent.name == "policy" else said(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and any(name in str(node.value) for name in NAMED):
                found.append(f"{path.name}:{node.lineno}: {node.value}")
    assert found == []


def said(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, without what explains rules: decorators, a constant MEASURED, docstrings."""
    for child in ast.iter_child_nodes(node):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if child in getattr(node, "decorator_list", ()) or is_docstring:
            continue
        if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) == "MEASURED":
            continue
        yield child
        yield from said(child)

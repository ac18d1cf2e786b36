"""Everything the fixtures of test_findings_*.py build and find, for tests that hold for all findings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from perfdiag.diagnosis.rule import Finding, Outcome, Rule
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.model import Model

TESTS = Path(__file__).parent.parent


@dataclass
class Recorded:
    """What was seen while the fixtures ran."""

    findings: list[Finding] = field(default_factory=list)
    models: dict[int, Model] = field(default_factory=dict)  # by identity: a model is asked by several rules


@cache
def recorded() -> Recorded:
    """Run the tests that need nothing, and keep every model and every finding of every rule they run."""
    seen = Recorded()

    def recording(rule: Rule) -> Callable[[Model], Iterable[Outcome]]:
        def function(model: Model) -> Iterable[Outcome]:
            seen.models[id(model)] = model
            for outcome in rule.function(model):
                if isinstance(outcome, Finding):
                    seen.findings.append(outcome)
                yield outcome

        return function

    paths = sorted(TESTS.glob("test_findings_*.py"))
    assert paths, f"no test_findings_*.py in {TESTS}"
    originals = dict(RULES)
    RULES.update({id: replace(rule, function=recording(rule)) for id, rule in originals.items()})
    try:
        for path in paths:
            module = importlib.import_module(f"unit.{path.stem}")
            for name, test in inspect.getmembers(module, inspect.isfunction):
                if name.startswith("test_") and not inspect.signature(test).parameters:
                    with suppress(AssertionError):  # its own module reports it; what it found counts all the same
                        test()
    finally:
        RULES.update(originals)
    return seen


__all__ = ["recorded"]

"""No function of perfdiag is longer than a screen."""

from __future__ import annotations

import ast
from pathlib import Path

import perfdiag

ROOT = Path(perfdiag.__file__).parent
MOST_LINES = 50  # with signature and docstring; ruff counts the branches (pyproject.toml)


def test_functions_fit_a_screen() -> None:
    functions = [
        (function.end_lineno - function.lineno + 1, f"{path.relative_to(ROOT)}:{function.lineno} {function.name}")
        for path in sorted(ROOT.rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.end_lineno
    ]
    assert len(functions) > 1000, f"{len(functions)} functions under {ROOT}"
    assert [each for each in functions if each[0] > MOST_LINES] == []

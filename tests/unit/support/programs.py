"""Programs of tools/ as modules: their functions need neither bcc nor root."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from conftest import ROOT


def program(name: str) -> ModuleType:
    """Return the module of tools/NAME."""
    spec = importlib.util.spec_from_file_location(name.replace(".", "_"), ROOT / "tools" / name)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


__all__ = ["program"]

"""From a `Model` to findings: one finding id a module, named after it; a new module is found by being there."""

from importlib import import_module
from pkgutil import walk_packages

from perfdiag.diagnosis.rule import RULES

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = ["RULES"]

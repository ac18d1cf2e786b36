"""Sums of numbers that have names, as incident.toml has them: "count * FLUSH_MS * 1e6 / elapsed_ns"."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
LONGEST = 1000  # characters; the parser of Python does not survive any depth
FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}


class ExpressionError(ValueError):
    """An expression that has no value, and why."""


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """Return the value of an expression.  Raises ExpressionError where it is no number, or a name is not known."""
    if len(text) > LONGEST:
        raise ExpressionError(f"{text[:20]!r}... has {len(text):,} characters: at most {LONGEST} can be asked for")
    try:
        value = _value(ast.parse(text, mode="eval").body, names)
    except ExpressionError:
        raise
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r}: {error}") from error
    if not math.isfinite(value):  # a share of NaN is not far off from anything
        raise ExpressionError(f"{text!r} comes to {value}")
    return value


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            if name not in names:
                raise ExpressionError(f"no number {name}: there are {', '.join(sorted(names))}")
            return float(names[name])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS and arguments:
            return FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise ExpressionError(f"{ast.unparse(node)!r} is no sum of numbers and names")


__all__ = ["ExpressionError", "evaluate"]

"""Sets of CPUs are sets, and lists of the kernel are read as it writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.facts.cpu_sets import MOST_CPUS, Cpus, cpu_list

SETS = st.frozensets(st.integers(0, 200), max_size=20)


@given(SETS, SETS)
def test_they_are_sets(one: frozenset[int], other: frozenset[int]) -> None:
    a, b = Cpus.of(one), Cpus.of(other)
    assert set(a) == one and len(a) == len(one) and bool(a) == bool(one) and a == one
    assert set(a & b) == one & other and (a <= b) == (one <= other) and (a == b) == (one == other)
    assert set(a & other) == one & other == set(other & a) and (hash(a) == hash(b) or a != b)
    assert set(Cpus.together([a, b])) == one | other
    assert all((cpu in a) == (cpu in one) for cpu in range(210))


@given(SETS)
def test_a_list_of_the_kernel_is_read(cpus: frozenset[int]) -> None:
    assert cpu_list(",".join(map(str, sorted(cpus))) + "\n") == (cpus or None)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        (f"{MOST_CPUS - 1}", {MOST_CPUS - 1}),
        (f"{MOST_CPUS}", None),
        ("0-99999999999", None),
        ("3-1", None),
        ("0-5,3", None),
        ("1,,2", None),
        ("-1", None),
        ("\u0663", None),
        (None, None),
    ],
)
def test_what_the_kernel_does_not_write_is_no_list(text: str | None, cpus: set[int] | None) -> None:
    assert cpu_list(text) == cpus

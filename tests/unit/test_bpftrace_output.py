"""What the tests of tools/ read of a script's output, as two versions of bpftrace write it."""

from __future__ import annotations

import pytest

from live.support.bpftrace import Stats, read

OLD = """\
Attaching 9 probes...
Tracing flushes of files. Ctrl-C ends.

@failed[a, 5]: 3
@flush_ns[a b, 12]:{blank}
[512, 1K)              1 |@@@@                                                |
[1K, 2K)              22 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|

@flushes[a b, 12]: count 23, average 40, total 920
@unseen: 0
"""


def test_both_ways_to_print_statistics() -> None:
    new = "@flushes[a b, 12]: { .count = 23, .average = 40, .total = 920 }"
    for text in (OLD.format(blank=" "), OLD.format(blank="").replace(OLD.splitlines()[-2], new)):
        seen = read(text)
        assert seen.stats("@flushes") == seen.stats("@flushes", "a b") == Stats(23, 40, 920)
        assert seen.histogram("@flush_ns", "a b") == {"[512, 1K)": 1, "[1K, 2K)": 22}
        assert seen.number("@failed", "a", "5") == 3 and seen.unseen == 0


def test_names_are_printed_raw() -> None:
    assert read("@behind_ns[a\n\n]: 5\n@behind_ns[a]: 7\n").sums("@behind_ns") == {"a\n\n": 5, "a": 7}
    assert read("nothing\n").maps == {}


def test_rows_that_look_the_same_are_found() -> None:
    with pytest.raises(AssertionError, match="the same to a reader"):
        read("@behind_ns[sh]: 5\n@behind_ns[sh]: 7\n")

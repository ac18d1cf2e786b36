"""Lines and pages: what is wrapped, cut or folded fits, and says what is hidden."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from perfdiag.render.layout import Chunk, Section, arrange, clip, pad, wrap
from rich.cells import cell_len
from rich.text import Text


@given(st.text(max_size=200), st.integers(10, 80), st.integers(1, 4))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int, limit: int) -> None:
    text = "".join(c for c in text if c.isprintable())
    lines = wrap(text, width, first="  ")
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    short = wrap(text, width, first="  ", limit=limit)
    assert len(short) <= limit and all(cell_len(line) <= width for line in short)
    if len(lines) > limit:
        assert short[-1].endswith("...")


def test_a_number_keeps_its_unit() -> None:
    assert wrap("it took 4.12 ms", 12) == ["it took", "4.12 ms"]
    assert wrap("it took 4 men", 9) == ["it took 4", "men"]


@given(st.text(max_size=50), st.integers(3, 60))
def test_clip_and_pad(text: str, width: int) -> None:
    text = "".join(c for c in text if c.isprintable())
    assert cell_len(clip(text, width)) <= width
    assert cell_len(pad(text, width)) == width


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 20)), min_size=1, max_size=4), max_size=8),
    st.integers(3, 30),
)
def test_a_page_fits_and_a_fold_counts_what_is_hidden(shape: list[list[tuple[int, int]]], budget: int) -> None:
    blocks = [[Chunk([Text(f"{i}")] * lines, rank) for lines, rank in block] for i, block in enumerate(shape)]
    section = Section([Text("HEAD")], blocks, lambda hidden: [Text(f"{len(hidden)} hidden")])
    lines = [line.plain for line in arrange([section], budget)]
    assert len(lines) <= budget
    shown = {line for line in lines if line.isdigit()}
    if len(shown) < len(blocks):
        assert f"{len(blocks) - len(shown)} hidden" in lines


def test_what_is_cut_ends_behind_a_part_or_a_word_near_there() -> None:
    parts = "longest 302 ms, 28 over 100 ms, 1 without an answer"
    assert clip(parts, 43) == "longest 302 ms, 28 over 100 ms, ..."
    words = "requests that wait for something"
    assert clip(words, 29) == "requests that wait for..." and clip(words, 25) == "requests that wait for..."
    assert clip("a " + "b" * 40, 20) == "a " + "b" * 15 + "...", "far from there a word is cut"
    assert wrap(parts, 42, limit=1) == ["longest 302 ms, 28 over 100 ms, ..."]

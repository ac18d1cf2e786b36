"""Answers of bcc's and libbpf-tools' programs are read as they were printed; the page is made of the kept figures."""

from __future__ import annotations

import pytest

from bench import witness_table
from bench.witness_answers import (
    Answer,
    Unreadable,
    blocked,
    collections,
    column,
    counted,
    exactly,
    histogram,
    refusal,
    section,
    slow_calls,
)
from bench.witness_questions import QUESTIONS
from bench.witness_table import KEPT
from bench.witness_verdicts import VERDICTS
from bench.witnesses import since

PRINTED = KEPT / "printed"
MS = 1_000_000


def printed(name: str) -> str:
    """What a tool has really printed."""
    return (PRINTED / f"{name}.out").read_text()


@pytest.mark.parametrize(
    ("answer", "error"),
    [(Answer(5, 10), 0), (Answer(10, 20), 0), (Answer(12, 20), 0.2), (Answer(2, 5), -0.5), (exactly(0), -1)],
)
def test_error_is_what_lies_outside_the_range(answer: Answer, error: float) -> None:
    assert answer.error(10) == pytest.approx(error)


@pytest.mark.parametrize(("name", "count"), [("runqlat-bcc", 139), ("runqlat-libbpf", 139)])
def test_a_histogram_is_a_range(name: str, count: int) -> None:
    """Two threads shared a CPU for 2 s, and each waited for half of it."""
    text = printed(name)
    answer = histogram(text)
    assert counted(text) == count
    assert 1e9 < answer.low < 2e9 < answer.high < 3e9
    assert answer.high - answer.low == pytest.approx(answer.low, rel=0.01)


def test_one_process_of_many() -> None:
    """Whoever prints a name behind the pid, and whoever does not."""
    text = "pid = 7 sh\n     usecs : count\n  4 -> 7   : 3   |**|\n\npid = 77\n  usecs : count\n  8 -> 15  : 1  |*|\n"
    assert histogram(section(text, "7")) == Answer(12_000, 24_000)
    assert histogram(section(text, "77")) == Answer(8_000, 16_000)
    assert histogram(section(text, "777")) == exactly(0)


def test_a_histogram_without_a_unit_is_no_answer() -> None:
    with pytest.raises(Unreadable, match="without a unit"):
        histogram("  4 -> 7   : 3   |**|\n")


def test_a_table_that_is_not_there_is_no_answer() -> None:
    with pytest.raises(Unreadable, match="no column MISSES"):
        column("Tracing...\n", "MISSES")


def test_what_was_printed_before_does_not_count() -> None:
    text = "HITS MISSES\n1 2\n3 4\n5 6\n"
    assert column(since(text, len("HITS MISSES\n1 2\n")), "MISSES") == exactly(10)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "kvmexit-bcc",
            "Exception: Failed to do precondition check, due to: Currently we only support Intel architecture",
        ),
        ("cachestat-libbpf", "libbpf: prog 'account_page_dirtied': failed to find kernel BTF type ID"),
    ],
)
def test_a_refusal_is_told_in_its_own_words(name: str, words: str) -> None:
    assert refusal(printed(name)).startswith(words)


def test_no_words_are_no_reason() -> None:
    assert refusal(" \n") == "it ended without a word"


def test_one_disk_of_many() -> None:
    """100 of 101 reads from a disk of 20 ms took 16 to 33 ms."""
    text = section(printed("biolatency-libbpf"), "loop0")
    assert counted(text) == 101
    assert histogram(text) == Answer((100 * 16_384 + 32_768) * 1_000, (100 * 32_768 + 65_536) * 1_000)
    assert histogram(section(printed("biolatency-libbpf"), "loop1")) == exactly(0)


def test_a_column_of_a_table() -> None:
    assert column(printed("cachestat-bcc"), "HITS") == exactly(49_984 + 5_244 + 5_238 + 5_711 + 6_342 + 914)
    assert column(printed("cachestat-bcc"), "MISSES") == exactly(0)


@pytest.mark.parametrize(("name", "kind", "count"), [("nfsslower-bcc", "C", 23), ("nfsslower-libbpf", "F", 23)])
def test_slow_calls_of_a_file_by_kind(name: str, kind: str, count: int) -> None:
    text = printed(name)
    rows = [line.split() for line in text.splitlines() if line.endswith(" flushed") and f" {kind} " in line]
    assert len(rows) == count
    assert slow_calls(text, "flushed", kind) == exactly(pytest.approx(sum(float(row[-2]) for row in rows) * MS))
    assert slow_calls(text, "another", kind) == exactly(0)


def test_collections_are_told_once_for_each_pool_of_memory() -> None:
    text = printed("ugc-bcc")
    times = [float(line.split()[1]) for line in text.splitlines()[2:] if line]
    assert len(times) == 23 * 9
    assert collections(text, 1) == exactly(pytest.approx(sum(times) * 1_000))


@pytest.mark.parametrize(
    ("name", "waits_us"),
    [
        ("offcputime-libbpf", (1_305_111, 2_040_283, 1_280_375, 1_287_452)),
        ("offcputime-bcc", (1_278_966, 1_286_815, 1_304_102, 2_039_249)),
    ],
)
def test_stacks_by_name_and_function(name: str, waits_us: tuple[int, ...]) -> None:
    """A lock that three threads share while the main one joins them, beside other programs and other waits."""
    text = printed(name)
    assert blocked(text, "lock", "futex_wait") == exactly(sum(waits_us) * 1_000)
    assert blocked(text, "lock", "nanosleep").low > 0
    assert blocked(text, "locksmith", "futex_wait") == exactly(0)
    both = blocked(text, "lock", "").low
    assert both >= blocked(text, "lock", "futex_wait").low + blocked(text, "lock", "nanosleep").low


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_every_question_has_a_verdict(name: str) -> None:
    """What differs, or does not run, is spoken of."""
    assert VERDICTS[name]


def test_the_page_is_made_of_the_figures(update: bool) -> None:
    page = witness_table.document(witness_table.kept(), VERDICTS)
    if update:
        witness_table.DOCUMENT.write_text(page)
    assert witness_table.DOCUMENT.read_text() == page


def test_perfdiag_has_answered_every_question_that_was_asked() -> None:
    for comparison in witness_table.kept():
        *others, own = comparison.testimonies
        assert own.who == "perfdiag" and own.error is not None and abs(own.error) < 0.2, comparison.name
        assert {one.who for one in others} == {asked.who for asked in QUESTIONS[comparison.name].tools}
        for one in others:
            assert one.refused or one.answer, "a tool that did not run says why"


def test_a_row_of_the_table() -> None:
    refused = witness_table.Testimony("bcc", "runqlat-bpfcc", refused="no | headers")
    assert witness_table.row(refused, "ns").startswith("| bcc | does not run: `no \\| headers` |")
    right = witness_table.Testimony("libbpf-tools", "runqlat", "", Answer(1e9, 2e9), 0, 0.8, 11.2, 2_877, 1.23)
    assert witness_table.row(right, "ns") == (
        "| libbpf-tools | 1,000 ms to 2,000 ms | right | 0.8 s | 11 MiB | 2,877 | 1.23 |"
    )
    wrong = witness_table.Testimony("bcc", "cachestat", "", exactly(0), -1, 27, 121, None, None)
    assert witness_table.row(wrong, "pages") == "| bcc | 0 pages | -100.0 % | 27.0 s | 121 MiB |  |  |"

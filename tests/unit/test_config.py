"""The configuration file: where it is found, what it may say, and what is said of a bad one."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import pytest
from perfdiag.capture.recorder import Window
from perfdiag.commands import settings
from perfdiag.common import config, deadline
from perfdiag.common.config import Config, ConfigError
from perfdiag.diagnosis import policy

from unit.support.nobody import run_as_nobody

URL = "https://wiki.example/perfdiag/{id}"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy host may take longer than a user should wait."""
    monkeypatch.setattr(config, "DEADLINE_S", 30)


def written(tmp_path: Path, content: str | bytes, name: str = "config.toml") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def load(paths: list[Path]) -> Config:
    return config.load(paths, accepted=policy.accepted)


def test_no_file_is_fine(tmp_path: Path) -> None:
    assert load([tmp_path / "none", written(tmp_path, "") / "below-a-file"]) == Config()
    assert Config().runbook("CPU-BOUND") is None


def test_ids_become_links(tmp_path: Path) -> None:
    loaded = load([written(tmp_path, f'runbook_url = "{URL}"')])
    assert loaded.runbook("CPU-BOUND") == "https://wiki.example/perfdiag/CPU-BOUND"


def test_the_users_own_wins(tmp_path: Path) -> None:
    system = written(tmp_path, f'runbook_url = "{URL}"', "system.toml")
    user = written(tmp_path, 'runbook_url = "http://own/{id}"', "user.toml")
    assert load([system, user]).runbook("X") == "http://own/X"
    assert load([system, written(tmp_path, "", "empty.toml")]).runbook_url == URL


def test_a_budget_is_a_percentage(tmp_path: Path) -> None:
    system = written(tmp_path, 'max_cost = "2%"', "system.toml")
    assert load([system]).max_cost_ppm == 20_000
    assert load([system, written(tmp_path, 'max_cost = "0"', "user.toml")]).max_cost_ppm == 0
    assert load([system, written(tmp_path, "", "empty.toml")]).max_cost_ppm == 20_000
    for wrong in ("2", '"200%"', '"two"', "true", '["2%"]'):
        with pytest.raises(ConfigError, match="max_cost") as raised:
            load([written(tmp_path, f"max_cost = {wrong}")])
        assert raised.value.hint == 'write it like max_cost = "2%"'


def test_what_is_asked_for_goes_before_the_configuration() -> None:
    asked, none = Window(0, max_cost_ppm=5), Window(0)
    assert settings.with_budget(asked, Config(max_cost_ppm=7)).max_cost_ppm == 5
    assert settings.with_budget(none, Config(max_cost_ppm=0)).max_cost_ppm == 0
    assert settings.with_budget(none, Config()).max_cost_ppm == config.DEFAULT_MAX_COST_PPM


def test_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert config.files() == [config.SYSTEM_FILE, Path("/home/somebody/.config/perfdiag/config.toml")]
    monkeypatch.setenv("XDG_CONFIG_HOME", "/elsewhere")
    assert config.files()[-1] == Path("/elsewhere/perfdiag/config.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")  # the specification says to ignore it: no working directory here
    assert config.files() == [config.SYSTEM_FILE]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("runbook_url = ", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        ("colour = 1", "unknown key 'colour'"),
        ('"a\\u001b[2J" = 1', "unknown key 'a\\\\x1b"),
        ("runbook_url = 1", "must be a text"),
        ('runbook_url = "https://wiki/"', "must contain {id}"),
        ('runbook_url = "https://wiki/{id}/{id}"', "must contain {id}"),
        ('runbook_url = "https://wiki/{id}{x}"', "no other brace"),
        ('runbook_url = "javascript:{id}"', "must begin with https"),
        ('runbook_url = "https://wi ki/{id}"', "without blanks"),
        ('runbook_url = "https://wiki/\\u001b{id}"', "without blanks"),
        ("thresholds = 1", "must be a table"),
        ("[thresholds]\ndisk = 1", "disk must be a table of thresholds"),
        ("[thresholds]\ndisk.timeout = 1", "disk.timeout is no threshold; the nearest is disk.timeout_ns"),
        ('[thresholds]\n"\\u001b".x = 1', "x1b.x is no threshold"),
        ("[thresholds]\ndisk.timeout_ns = '1'", "disk.timeout_ns must be a number"),
        ("[thresholds]\ndisk.timeout_ns = true", "disk.timeout_ns must be a number"),
        ("[thresholds]\ndisk.timeout_ns = 0.5", "disk.timeout_ns must be a whole number"),
        ("[thresholds]\ndisk.timeout_ns = -1", "disk.timeout_ns must not be negative"),
        ("[thresholds]\ngeneral.fault_share = nan", "general.fault_share must be a number"),
        ("[thresholds]\ngeneral.fault_share = 1.5", "general.fault_share must be from 0 to 1"),
        ("x = " + "[" * 900, "nested too deeply"),
        ("\nx = " + "9" * 5_000, "line 2 is longer than 1,000 bytes"),
        ("." * 1_000 + "\n", "not valid TOML"),
        ("x" * (config.LIMIT_BYTES + 1), "longer than 64 KiB"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, content: str | bytes, said: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        load([path])
    assert str(caught.value).startswith(f"{path}: ") and said in str(caught.value)
    assert caught.value.hint and "\x1b" not in str(caught.value)


def test_a_key_of_many_parts_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = written(tmp_path, ".".join(["a"] * 32_000) + " = 1")
    began = time.process_time()
    with pytest.raises(ConfigError, match="line 1 is longer than 1,000 bytes"):
        load([path])
    assert time.process_time() - began < 2


def test_a_device_has_no_limit_that_could_be_raised(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="longer than 64 KiB") as caught:
        load([path])
    assert caught.value.hint == "correct the file or move it away"


def test_a_path_is_shown_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "\x1b[2J"
    folder.mkdir()
    for content in (b"colour = 1", b"runbook_url = 1", b"\xff", b"=", b"x = " + b"[" * 900):
        with pytest.raises(ConfigError, match=r"/\\x1b\[2J/config\.toml: ") as caught:
            load([written(folder, content)])
        assert "\x1b" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"/\\x1b\[2J: "):
        load([folder])
    monkeypatch.setattr(config, "DEADLINE_S", 0.1)
    os.mkfifo(folder / "never")
    assert "\x1b" not in load([folder / "never"]).left_out[0]


def test_a_limit_of_processes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child reads the file; that none can be made is no fault of its permissions."""

    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(ConfigError) as caught:
        load([tmp_path / "config.toml"])
    assert "ulimit -u" in (caught.value.hint or "") and "no process can be started" in str(caught.value)


def test_a_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load([tmp_path])


def test_permissions(open_folder: Path) -> None:
    """An own file that cannot be read is an error; the home of somebody else, as after sudo -u, is none of ours."""
    path = written(open_folder, f'runbook_url = "{URL}"')
    path.chmod(0)
    library = str(Path(config.__file__).parents[2])
    script = f"import sys; sys.path.insert(0, {library!r}); from perfdiag.common import config; "
    script += "from pathlib import Path; config.DEADLINE_S = 30; "
    script += f"print(config.load([Path({str(path)!r})], accepted=None).runbook_url)"
    for home_mode in (0o711, 0o700):
        open_folder.chmod(home_mode)
        told = run_as_nobody(sys.executable, "-IBc", script)
        ignored = home_mode == 0o700 and os.geteuid() == 0
        assert told.stdout == ("None\n" if ignored else ""), told.stderr
        assert ("Permission denied" in told.stderr) != ignored


def test_a_file_that_never_answers_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "DEADLINE_S", 0.1)
    os.mkfifo(tmp_path / "config.toml")
    found = load([tmp_path / "config.toml"])
    assert found.runbook_url is None and "config.toml is left out: no answer in time" in found.left_out[0]


def test_reading_with_a_deadline_is_reading(tmp_path: Path) -> None:
    content = os.urandom(300_000)  # more than a pipe holds
    path = written(tmp_path, content)
    assert deadline.read_bytes(path, len(content), 30) == content
    with pytest.raises(OSError, match="too large"):
        deadline.read_bytes(path, len(content) - 1, 30)
    with pytest.raises(FileNotFoundError):
        deadline.read_bytes(tmp_path / "none", 1, 30)

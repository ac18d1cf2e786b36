"""The configuration: /etc/perfdiag/config.toml, then the user's own, which wins key by key.

runbook_url = "https://wiki.example/perfdiag/{id}" # link to more about a finding
max_cost = "2%" # what measuring may take of the CPU time of the target
[thresholds]
disk.timeout_ns = 500_000_000 # instead of the default (perfdiag explain --thresholds)

The files are read with the rights of the caller, and errors quote them.
"""

import errno
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from perfdiag.common.deadline import read_bytes
from perfdiag.common.errors import HINTS, PerfdiagError
from perfdiag.common.privileges import home_of_caller
from perfdiag.common.text import printable

SYSTEM_FILE = Path("/etc/perfdiag/config.toml")
LIMIT_BYTES = 1 << 16
DEFAULT_MAX_COST_PPM = 330_000  # what keeps nginx, pgbench and a ping-pong whole: perfdiag-latency(8)
LINE_LIMIT_BYTES = 1_000  # a key of n parts, all on one line, takes n * n steps
Accepted = Callable[[str, object], int | float]  # the value of a threshold; raises ValueError with the reason
DEADLINE_S = 0.5  # a home directory may lie on a dead server: the report must not wait for it


class ConfigError(PerfdiagError):
    """A configuration file is not valid."""


@dataclass(frozen=True)
class Config:
    """What can be configured; every key has a default."""

    runbook_url: str | None = None  # holds "{id}"
    max_cost_ppm: int | None = None  # of the target's CPU time, in parts per million
    thresholds: Mapping[str, int | float] = field(default_factory=dict)  # that the user set, by full name
    left_out: tuple[str, ...] = ()  # files that did not answer in time, a sentence each

    def runbook(self, finding_id: str) -> str | None:
        """Return the link to more about a finding, None without a configured runbook."""
        return self.runbook_url.replace("{id}", quote(finding_id)) if self.runbook_url else None


def files() -> list[Path]:
    """Return the files to read, the most specific last."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home_of_caller(), ".config")
    user = [Path(home, "perfdiag", "config.toml")] if os.path.isabs(home) else []
    return [SYSTEM_FILE, *user]


def load(paths: list[Path] | None = None, *, accepted: Accepted) -> Config:
    """Read the configuration files that exist; `accepted` says which thresholds there are, and which values they take.

    Raises ConfigError for a file that cannot be read, is not TOML or has invalid keys.
    """
    runbook_url: str | None = None
    max_cost_ppm: int | None = None
    thresholds: dict[str, int | float] = {}
    left_out: list[str] = []
    for path in files() if paths is None else paths:
        shown = printable(str(path))
        try:
            content = read_bytes(path, LIMIT_BYTES, DEADLINE_S)
            _check_lines(shown, content)
            table = tomllib.loads(content.decode())
            _check_keys(shown, table)
            runbook_url = _runbook_url(shown, table) or runbook_url
            given = _max_cost_ppm(shown, table)
            max_cost_ppm = max_cost_ppm if given is None else given
            thresholds |= _thresholds(shown, table, accepted)
        except (FileNotFoundError, NotADirectoryError):
            continue  # also in the home of somebody else, as under sudo, or after su without a dash
        except PermissionError as error:
            raise ConfigError(f"{shown}: cannot be read: {error.strerror}", "correct its permissions") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{shown}: not UTF-8 text", "correct the file or move it away") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{shown}: not valid TOML: {error}", "correct the file or move it away") from error
        except RecursionError as error:
            raise ConfigError(f"{shown}: nested too deeply", "correct the file or move it away") from error
        except TimeoutError as error:  # a host too slow to answer is the one that wants a report
            left_out.append(f"{shown} is left out: {error.strerror}")
        except BlockingIOError as error:  # of the file itself nothing is known
            no_process = f"no process can be started, to read {shown}: {error.strerror}"
            raise ConfigError(no_process, HINTS[errno.EAGAIN]) from error
        except OSError as error:
            if error.errno == errno.EFBIG:  # a device, or some other file: no limit of the shell's is in its way
                longer = f"{shown}: longer than {LIMIT_BYTES >> 10} KiB"
                raise ConfigError(longer, "correct the file or move it away") from error
            hint = "correct its permissions, or set XDG_CONFIG_HOME to an empty directory"
            raise ConfigError(
                f"{shown}: cannot be read: {error.strerror}", HINTS.get(error.errno or 0, hint)
            ) from error
    return Config(runbook_url, max_cost_ppm, thresholds, tuple(left_out))


def _check_lines(path: str, content: bytes) -> None:
    for number, line in enumerate(content.split(b"\n"), 1):
        if len(line) > LINE_LIMIT_BYTES:
            longer = f"{path}: line {number} is longer than {LINE_LIMIT_BYTES:,} bytes"
            raise ConfigError(longer, "correct the file or move it away")


def _check_keys(path: str, table: dict[str, Any]) -> None:
    for key in table.keys() - {"runbook_url", "max_cost", "thresholds"}:
        raise ConfigError(
            f"{path}: unknown key {printable(key)!r}", "the keys are runbook_url, max_cost and thresholds"
        )


def parts_per_million(percent: str) -> int:
    """Return what "2%", "2 %", "0.5" or "0.5%" means in parts per million. Raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,4})?|\.[0-9]{1,4}) ?%?", percent)
    if match is None or float(match[1]) > 100:
        raise ValueError(f"{printable(percent)!r} is not a percentage from 0% to 100% with at most four decimals")
    return round(float(match[1]) * 10_000)


def _max_cost_ppm(path: str, table: dict[str, Any]) -> int | None:
    """Return the budget of one file, None without one."""
    if "max_cost" not in table:
        return None
    value = table["max_cost"]
    hint = 'write it like max_cost = "2%"'
    if not isinstance(value, str):
        raise ConfigError(f"{path}: max_cost must be a text", hint)
    try:
        return parts_per_million(value)
    except ValueError as error:
        raise ConfigError(f"{path}: max_cost: {error}", hint) from error


def _runbook_url(path: str, table: dict[str, Any]) -> str | None:
    """Return the link of one file, None without one."""
    if "runbook_url" not in table:
        return None
    value = table["runbook_url"]
    hint = 'write it like runbook_url = "https://wiki.example/perfdiag/{id}"'
    if not isinstance(value, str) or not value.isprintable() or any(character.isspace() for character in value):
        raise ConfigError(f"{path}: runbook_url must be a text without blanks", hint)
    if value.count("{id}") != 1 or "{" in value.replace("{id}", ""):
        raise ConfigError(f"{path}: runbook_url must contain {{id}} once, and no other brace", hint)
    if urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).netloc:
        raise ConfigError(f"{path}: runbook_url must begin with https:// or http://", hint)
    return value


def _thresholds(path: str, table: dict[str, Any], accepted: Accepted) -> dict[str, int | float]:
    """Return the thresholds that one file sets."""
    found = {}
    for name, value in _flat(path, table.get("thresholds", {})):
        try:
            found[name] = accepted(name, value)
        except ValueError as error:
            raise ConfigError(
                f"{path}: thresholds: {printable(name)} {error}", "perfdiag explain --thresholds lists all of them"
            ) from error
    return found


def _flat(path: str, families: Any) -> Iterator[tuple[str, object]]:
    """Yield each threshold of {"disk": {"timeout_ns": 1}} as "disk.timeout_ns", 1."""
    hint = "write it like disk.timeout_ns = 500_000_000 below [thresholds]"
    if not isinstance(families, dict):
        raise ConfigError(f"{path}: thresholds must be a table", hint)
    for family, values in families.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: thresholds: {printable(family)} must be a table of thresholds", hint)
        yield from ((f"{family}.{name}", value) for name, value in values.items())

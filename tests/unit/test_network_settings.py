"""Settings of the kernel that each network namespace has for itself."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.settings.unusual_settings import unusual_settings
from perfdiag.facts.network_settings import NAMESPACES
from perfdiag.model.coverage.network_namespaces import FEATURE
from perfdiag.model.model import Model

from unit.support import Builder

SACK = "/proc/sys/net/ipv4/tcp_sack"


def waiting() -> Builder:
    """A target that waits for a peer for most of its time."""
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    return builder.row("net.receive", "peer:10.0.0.1:80", durations={"10 ms": 800})


def told(model: Model) -> list[tuple[str, str, str]]:
    """Return what is unusual, what shows it and what sets it back."""
    return [(each.text, each.shown_by, each.remedy.text if each.remedy else "") for each in unusual_settings(model)]


def missing(model: Model) -> list[str]:
    return [each.reason for each in model.not_measured if each.feature == FEATURE]


def test_a_setting_of_the_recorders_own_namespace_is_not_the_targets() -> None:
    model = waiting().fact(SACK, "0\n").fact("/network_settings/7", "ipv4/tcp_sack 1\n").model()
    assert not told(model) and model.facts.sysctl("net/ipv4/tcp_sack") == "1" and not missing(model)


def test_a_setting_of_the_targets_namespace_is_told_and_set_back_there() -> None:
    model = waiting().fact(SACK, "1\n").fact("/network_settings/7", "ipv4/tcp_sack 0\n").model()
    ((text, shown_by, remedy),) = told(model)
    assert "namespace of 7" in text and shown_by == "nsenter -t 7 -n sysctl net.ipv4.tcp_sack"
    assert remedy == "nsenter -t 7 -n sysctl -w net.ipv4.tcp_sack=1"


@pytest.mark.parametrize("lines", [[], [("/network_settings/7", "own\n")]])
def test_where_the_recorder_lives_with_the_target_its_files_count(lines: list[tuple[str, str]]) -> None:
    builder = waiting().fact(SACK, "0\n")
    for path, text in lines:
        builder.fact(path, text)
    ((_, shown_by, remedy),) = told(builder.model())
    assert (shown_by, remedy) == (SACK, "sysctl -w net.ipv4.tcp_sack=1")


def test_a_setting_of_the_whole_kernel_is_in_no_other_namespace() -> None:
    builder = waiting().fact("/proc/sys/net/core/netdev_max_backlog", "10\n")
    ((_, _, remedy),) = told(builder.fact("/network_settings/7", "ipv4/tcp_sack 1\n").model())
    assert remedy == "sysctl -w net.core.netdev_max_backlog=1000"


def test_of_several_namespaces_each_is_looked_at() -> None:
    builder = waiting().fact(SACK, "0\n").fact("/network_settings/7", "ipv4/tcp_sack 1\n")
    model = builder.fact("/network_settings/8", "ipv4/tcp_sack 0\n").model()
    assert [remedy for _, _, remedy in told(model)] == ["nsenter -t 8 -n sysctl -w net.ipv4.tcp_sack=1"]
    assert model.facts.sysctl("net/ipv4/tcp_sack") is None


@pytest.mark.parametrize("path", ["/network_settings/7", NAMESPACES])
def test_what_could_not_be_read_there_is_said_and_not_taken_from_here(path: str) -> None:
    model = waiting().fact(SACK, "0\n").fact(path, None, error="Operation not permitted").model()
    assert not told(model) and model.facts.sysctl("net/ipv4/tcp_sack") is None
    (reason,) = missing(model)
    assert "Operation not permitted" in reason


@pytest.mark.parametrize("text", ["", "\n", "own", " \n \n", "ipv4/tcp_sack\n", "ipv4/tcp_sack \x1b[2J\n", "\x00 0\n"])
def test_a_damaged_text_ends_no_report(text: str) -> None:
    for line in told(waiting().fact("/network_settings/7", text).model()):
        assert all(part.isprintable() for part in line)

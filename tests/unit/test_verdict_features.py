"""No acquittal by a recording whose recorder could not see what tells a cause from a norm."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.model import builder
from perfdiag.recording import reader
from perfdiag.report import assembly
from perfdiag.report.contract import Verdict
from perfdiag.report.verdict.unsure_recording import JUDGED_BY

from conftest import ROOT

Lines = list[dict[str, Any]]
# Lines that are not there without a feature.
LINES: Mapping[str, tuple[str, ...]] = {
    "block": ("device",),
    "dirty_throttle": ("writeback", "dirtier"),
    "nfs": ("rpc", "nfs_flush"),
    "stacks": ("stack",),
    "tcp": ("socket",),
    "vm": ("vm_exit",),
}
CAUSES = (
    ("slow-flush.flush-5ms", "block"),
    ("dirty-throttle.limit-8mib", "dirty_throttle"),
    ("nfs-commit.flush-5ms", "nfs"),
    ("huge-directory.60000-files", "stacks"),
    ("slow-clock-source.acpi-pm", "stacks"),
    ("network-loss.loss-10-percent", "tcp"),
    ("receiver-window.taken-slowly", "tcp"),
    ("emulated-device.ide", "vm"),
    ("emulated-device.ide", "vm_device"),
)


def recorded(name: str) -> Lines:
    data = (ROOT / f"tests/data/incidents/{name}.jsonl.gz").read_bytes()
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def verdict(lines: Lines) -> Verdict:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    model = builder.build(reader.read(io.BytesIO(data)))
    return assembly.make(model, engine.diagnose(model), Config()).verdict


def without(lines: Lines, feature: str) -> Lines:
    """Return the recording of a recorder whose programs of a feature were not attached."""
    kept = [line for line in lines if line["type"] not in LINES.get(feature, ())]
    for probe in kept[0]["probes"]:
        if probe["feature"] == feature:
            probe |= {"attached": False, "reason": "this kernel has not got it"}
    if feature == "vm_device":
        kept = [line | {"device": ""} if line["type"] == "vm_exit" else line for line in kept]
    kept[-1].pop("lines", None)
    return kept


@pytest.mark.parametrize(("name", "feature"), CAUSES)
def test_nobody_is_acquitted_by_what_was_not_measured(name: str, feature: str) -> None:
    assert verdict(recorded(name)).kind in ("cause", "causes")
    blind = verdict(without(recorded(name), feature))
    assert blind.kind not in ("profile", "elsewhere"), blind.text


def test_the_verdict_says_what_was_not_measured_and_what_tells() -> None:
    assert verdict(without(recorded("slow-flush.flush-5ms"), "block")).text == (
        "Cannot tell: not measured: queue and service time of disks: 1.59 s cannot be judged without it. To tell: a"
        " kernel with block tracepoints; by hand: iostat -x 1."
    )


def test_each_feature_that_judges_is_tried() -> None:
    assert {feature for _, feature in CAUSES} == set(JUDGED_BY)


@pytest.mark.parametrize("feature", sorted(JUDGED_BY))
def test_what_takes_no_time_needs_no_judge(feature: str) -> None:
    """Of a server whose peer answers at once: most of its busy time is its own code."""
    name = "network-peer.twin"
    assert verdict(without(recorded(name), feature)).kind == verdict(recorded(name)).kind == "profile"


def test_exits_of_unknown_reason_acquit_nobody() -> None:
    lines = [
        line | {"running_ns": 0} if line["type"] == "vm_exit" else line for line in recorded("emulated-device.ide")
    ]
    text = verdict(lines).text
    assert text.startswith("Cannot tell: the recording does not show what it waited 3.13 s for (vm.exit)."), text

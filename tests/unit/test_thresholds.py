"""Thresholds of the configuration: what they change, where it is told, and that every threshold has its reason."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from perfdiag.common import config
from perfdiag.diagnosis import policy
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Severity
from perfdiag.documents import explanation
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader
from perfdiag.report import assembly

RECORDING = Path(__file__).parents[1] / "data/incidents/lock.held-20ms.jsonl.gz"


def _model() -> Model:
    return builder.build(reader.read(io.BytesIO(gzip.decompress(RECORDING.read_bytes()))))


def test_the_users_own_wins_key_by_key(tmp_path: Path) -> None:
    system, user = tmp_path / "system.toml", tmp_path / "user.toml"
    system.write_text("[thresholds]\ndisk.timeout_ns = 1\nlocal.starts_per_second = 7\n")
    user.write_text("[thresholds.disk]\ntimeout_ns = 2\n")
    loaded = config.load([system, user], accepted=policy.accepted)
    assert loaded.thresholds == {"disk.timeout_ns": 2, "local.starts_per_second": 7.0}
    assert isinstance(loaded.thresholds["local.starts_per_second"], float), "it keeps the type of the default"


def test_rules_judge_by_the_thresholds_in_force() -> None:
    model = _model()
    warnings = [finding.id for finding in diagnose(model).findings if finding.severity is Severity.WARNING]
    assert warnings
    with policy.in_force({"general.fault_share": 1.0}):
        assert general_policy.fault_share == 1.0
        assert not [finding for finding in diagnose(model).findings if finding.severity is Severity.WARNING]
    assert [finding.id for finding in diagnose(model).findings if finding.severity is Severity.WARNING] == warnings


def test_a_threshold_of_zero_asks_nothing_of_threads_that_lack_an_account() -> None:
    with policy.in_force({"idle.parked_whole_life_share": 0.0}):
        model = _model()
        assert not [each for each in diagnose(model).silences if "itself failed" in each.reason]
        assert assembly.make(model, diagnose(model), config.Config())


def test_a_failure_restores_the_defaults() -> None:
    with pytest.raises(ZeroDivisionError), policy.in_force({"disk.timeout_ns": 1}):
        raise ZeroDivisionError
    assert policy.changed() == []


def test_the_report_tells_what_differs_from_the_defaults() -> None:
    model = _model()
    settings = {"disk.timeout_ns": 5_000_000_000, "general.fault_share": general_policy.fault_share}
    with policy.in_force(settings):
        report = assembly.make(model, diagnose(model), config.Config(thresholds=settings))
    (told,) = report.thresholds
    assert (told.name, told.value, told.unit) == ("disk.timeout_ns", 5_000_000_000, "ns")
    assert any("disk.timeout_ns" in note for note in report.notes)


def test_each_threshold_has_a_unit_a_reason_and_a_place_in_the_list() -> None:
    listed = explanation.thresholds()
    names = [name for name, _ in policy.thresholds()]
    assert len(names) == len(set(names)) > 200
    for name, threshold in policy.thresholds():
        assert f"  {name}: " in listed
        assert threshold.unit and len(threshold.reason.split()) >= 5 and threshold.reason[-1] in ".)", name
        assert threshold.accepted(threshold.value) == threshold.value, name

"""A process with much memory that forks, and one with little."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.model import Model

from live.support.fixtures import Attach, Start
from live.support.model import model_of
from live.support.workload import Workload

ID = "PROC-FORK-SLOW"


def watched(server: Workload, attach: Attach) -> tuple[Model, dict[str, int]]:
    recorder = attach(server)
    truth = server.run()
    return model_of(recorder.wait("targets gone")), truth


def test_61_forks_of_256_mib(start: Start, attach: Attach) -> None:
    model, truth = watched(start("fork_big", "--megabytes", 256, "--forks", 61), attach)
    (found,) = [each for each in diagnose(model).findings if each.id == ID]
    copying = found.evidence[0]
    assert copying.error is not None
    assert abs(copying.value - truth["forking_ns"]) < copying.error + 0.3 * truth["forking_ns"], (copying, truth)
    (children,) = [each.value for each in found.evidence if each.text.endswith("processes started")]
    assert children == 61


def test_61_forks_of_next_to_nothing(start: Start, attach: Attach) -> None:
    model, _ = watched(start("fork_big", "--megabytes", 0, "--forks", 61), attach)
    assert not [said for said in RULES[ID].function(model) if isinstance(said, Finding)]

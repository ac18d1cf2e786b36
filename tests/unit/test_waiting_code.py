"""The path of calls by which threads come to wait, as evidence of findings on waits."""

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import EvidenceKind

from unit.support import Builder

USER = ["read (libc.so.6)", "load_page (app)", "serve (app)", "start_thread (libc.so.6)"]


def paths(count: int = 100, *, account: str = "ipc.pipe") -> list[str]:
    """Return the paths told of a target that waits at pipes, of whose waits so many were sampled."""
    builder = Builder(comm="app").thread("app", ipc_pipe="4 s").row("ipc.pipe", "pipe:7", "4 s", count=100)
    builder.stack("wait", account, user=USER, object="pipe:7", count=count, weight="4 s")
    found = diagnose(builder.model()).findings
    assert found
    return [each.text for finding in found for each in finding.evidence if each.kind is EvidenceKind.CALLS]


def test_who_waits_is_told() -> None:
    """That threads wait at a pipe was told, and not what of the program reads there."""
    assert paths() == ["calls: serve (app) > load_page > read (libc.so.6) 100 % of sampled waits"]


def test_few_waits_and_those_of_others_tell_nothing() -> None:
    assert not paths(general_policy.waits_for_path - 1)
    assert not paths(account="wait.child")

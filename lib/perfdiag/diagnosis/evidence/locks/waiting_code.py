"""The path of calls by which threads come to wait, for findings on waits that name no code yet.

That threads wait for a disk, a lock or a peer is half of the answer: what of the program they do it for is on the
stacks that are sampled as such waits begin.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.evidence.cpu.call_path import call_path, path_evidence, walk
from perfdiag.diagnosis.evidence.request_readers import of_readers
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import EvidenceKind, Finding
from perfdiag.model.model import Model, once
from perfdiag.model.stacks.symbols import HOTSPOT, module_of, of_system
from perfdiag.recording import schema

_OF_RUNTIME = "runtime."  # stops threads wherever they are
_MOST = 10  # findings: nobody reads where the smallest of very many come from


def with_waiting_code(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; of the first, those on waits whose evidence names no code have the path of calls of most
    of these waits."""
    return [*(_with_code(model, finding) for finding in findings[:_MOST]), *findings[_MOST:]]


def _with_code(model: Model, finding: Finding) -> Finding:
    if any(each.kind is EvidenceKind.FUNCTIONS for each in finding.evidence):
        return finding
    stacks = of_readers(model, _waits(model, finding))
    count, whole_ns = sum(each.count for each in stacks), sum(each.weight_ns for each in stacks)
    if count < general_policy.waits_for_path or not whole_ns:
        return finding
    interpreters = {each.file for each in model.interpreters}
    steps = call_path(((walk(each, interpreters), each.weight_ns) for each in stacks), whole_ns)
    if all(of_system(name) or module_of(name) == HOTSPOT for step in steps for name in step.names):
        return finding  # every thread of a JVM waits there
    evidence = [*finding.evidence, *path_evidence(steps, count, "sampled waits")]
    return replace(finding, evidence=evidence)


def _waits(model: Model, finding: Finding) -> list[schema.Stack]:
    """Return the sampled waits that most of a finding's time was, none where that is another's, or was computed."""
    found: list[schema.Stack] = []
    sampled_ns = 0
    for claim, ns in finding.claims.items():
        account, key = (claim, None) if isinstance(claim, str) else claim
        if account.startswith(_OF_RUNTIME):
            continue
        stacks = _by_account(model).get(account, ()) if key is None else model.wait_stacks(account, key=key)
        sampled_ns += ns if stacks else 0
        found += stacks
    return found if 2 * sampled_ns > sum(finding.claims.values()) else []


@once
def _by_account(model: Model) -> dict[str, list[schema.Stack]]:
    return groups_by_key((each.account, each) for each in model.wait_stacks())

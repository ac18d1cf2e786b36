"""In which function was a process at the other end of the target's waits?"""

from collections.abc import Sequence
from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.idle.sleeps import caller_of_sleeps
from perfdiag.diagnosis.evidence.local.peer_parts import Part
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model
from perfdiag.model.stacks.scripts import waits_in
from perfdiag.recording import schema


def function_of(model: Model, part: Part) -> str:
    """Return the function in which threads of a process mostly computed, or began to wait; "" if no stack tells.

    A stack that several threads share stands with the first of them. Then it counts if the process has no other.
    """
    if part.doer is None or part.doer.has_ended:
        return ""
    pid, tids = part.doer.pid, {each.line.root_tid for each in part.lines}
    stacks = [stack for stack in model.peer_stacks if stack.pid == pid and _is_in(stack, part.root)]
    own = [stack for stack in stacks if stack.tid in tids]
    if own:
        return _name(model, pid, own, part.root)
    names = {_name(model, pid, [stack], part.root) for stack in stacks}
    return names.pop() if len(names) == 1 else ""


def _is_in(stack: schema.PeerStack, account: str) -> bool:
    return stack.kind == "cpu" if account == "cpu.user" else stack.kind == "wait" and stack.account == account


def _name(model: Model, pid: int, stacks: Sequence[schema.PeerStack], account: str) -> str:
    if account == "cpu.user":
        samples = CpuSamples(replace(model, stacks=stacks), pid)
        own = samples.hot_path()[:1] or samples.hottest(1)
        return plain(own[0].name) if own and own[0].part.share >= cpu_policy.hot_spot_share else ""
    if account == "wait.timer":
        return caller_of_sleeps(stacks)
    weights = sums_by_key((waits_in(stack), stack.weight_ns or 1) for stack in stacks)
    return plain(max(weights, key=lambda name: (weights[name], name), default=""))

"""Which requests a server computes for."""

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.stack_samples import SAMPLED
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.significance import plain
from perfdiag.model.model import Model


def computed_for(model: Model, fewest_names: int = 2) -> str:
    """Return the name of the requests that take most of the CPU time of all, "GET /report"; "" where none do, or fewer
    names are served."""
    served = [each.line for each in model.exchanges if each.served]
    computed = sums_by_key(
        (line.name, part.sum_ns) for line in served for part in line.accounts if part.account in SAMPLED
    )
    most = max(computed, key=lambda name: computed[name], default="")
    few = len(served) < fewest_names
    if not most or few or computed[most] < requests_policy.blocking_name_share * sum(computed.values()):
        return ""
    return plain(most)

"""Mount options that make an NFS client ask again for what it has: each look at a file is a round trip then."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.nfs.mount_calls import Procedure
from perfdiag.diagnosis.evidence.nfs.wait_parts import Use
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix

ASKING = ("GETATTR", "ACCESS", "LOOKUP")  # calls that revalidate caches


def forced_by(use: Use, calls: Procedure) -> Sequence[str]:
    """Return the options of a mount for which most of these calls are made; none where most are for something else."""
    if not calls.count or use.calls(*ASKING).count < nfs_policy.metadata_calls_share * calls.count:
        return ()
    found = [name for name in ("noac",) if name in use.options]
    if not found and use.options.get("acregmax") == "0" and use.options.get("acdirmax") == "0":
        found.append("actimeo=0")
    return [*found, *(["lookupcache=none"] if use.options.get("lookupcache") == "none" else [])]


def without(options: Sequence[str]) -> Remedy:
    """Return the remedy for such options."""
    return fix(f"mount without {' and '.join(options)}, unless other clients must see changes at once")

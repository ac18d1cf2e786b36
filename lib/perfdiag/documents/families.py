"""The families of findings: the room of diagnosis/rules that each rule is in, with its title."""

from pkgutil import walk_packages

from perfdiag.diagnosis import rules
from perfdiag.diagnosis.rule import Rule

FAMILIES = {
    "cpu": "computing",
    "runqueue": "waiting for a CPU",
    "disk": "disks",
    "filesystem": "file systems",
    "nfs": "NFS",
    "memory": "memory",
    "locks": "locks",
    "sql": "databases",
    "jvm": "Java virtual machines",
    "network": "network",
    "local": "other processes, terminals and descriptors",
    "requests": "requests",
    "idle": "idle targets",
    "virtual": "virtual machines",
    "unattributed": "time of unknown cause",
}
# Each rule is a module named after its id.
_ROOMS = {
    module.name.split(".")[-1]: module.name.split(".")[-2]
    for module in walk_packages(rules.__path__, f"{rules.__name__}.")
}


def family_of(rule: Rule) -> str:
    """Return the room of diagnosis/rules that a rule is in."""
    return _ROOMS[rule.id.lower().replace("-", "_")]

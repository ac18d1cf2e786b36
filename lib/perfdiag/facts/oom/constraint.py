"""The line "oom-kill:constraint=..." of the OOM killer: which limit was met, and by whose memory.

Three names stand in it that users may choose, and no sign of the kernel's cannot stand in a name: that of the cpuset,
those of two control groups, that of the process.
"""

import re
from dataclasses import dataclass

_BEGIN = re.compile(r"oom-kill:constraint=(CONSTRAINT_[A-Z_]{1,20}),nodemask=([0-9,-]{1,200}|\(null\)|),cpuset=")
_MEMBER = ",task_memcg="
_OF_GROUP = re.compile(r",mems_allowed=([0-9,-]{0,200}),oom_memcg=(?=/)")
_OF_HOST = re.compile(rf",mems_allowed=([0-9,-]{{0,200}}),global_oom(?={_MEMBER})")
_END = re.compile(r",pid=([0-9]{1,10}),uid=[0-9]{1,10}")


@dataclass(frozen=True)
class Constraint:
    """What the line says."""

    kind: str  # CONSTRAINT_NONE, _MEMCG, _CPUSET, _MEMORY_POLICY
    nodes: str
    cpuset: str
    group: str | None  # whose limit was met; None: no control group's
    chosen_pid: int
    ambiguous: bool  # names in it look like parts of it: group, nodes and cpuset may be what a user wants them to be


def read(text: str, group: str) -> Constraint | None:
    """Return what the line says, None where it is another.

    `group` is what the kernel called the group a line before ("" if nothing): that line holds no other name, and where
    this one can be read so, it is read so.
    """
    begin, end = _BEGIN.match(text), _END.fullmatch(text, max(0, text.rfind(",pid=")))
    if begin is None or end is None:
        return None
    names = text[begin.end() : end.start()]
    limited = begin[1] == "CONSTRAINT_MEMCG"
    last = names.rfind(_MEMBER)
    readings = [each for each in (_OF_GROUP if limited else _OF_HOST).finditer(names) if each.end() <= last]
    sure = [each for each in readings if limited and group and names.startswith(f"{group}{_MEMBER}", each.end())]
    if not readings:
        return None
    found = (sure or readings)[-1]
    path = names[found.end() : names.index(_MEMBER, found.end())]
    return Constraint(
        kind=begin[1],
        nodes=found[1] if begin[2] == "(null)" else begin[2],
        cpuset=names[: found.start()],
        group=None if not limited else group if sure else path,
        chosen_pid=int(end[1]),
        ambiguous=not sure and (len(readings) > 1 or names.count(_MEMBER) > 1),
    )

"""CPU samples inside perfdiag's own probes: the cost of recording, and none of the target's work."""

import re
from collections.abc import Callable

from perfdiag.model.model import Model, once
from perfdiag.model.stacks.symbols import module_of
from perfdiag.recording import schema

# Programs that stand in functions of the target's own program (bpf/sql): each call traps into the kernel twice.
IN_PROGRAMS = frozenset({"postgres_activity", "postgres_run", "mariadb_begin", "mariadb_end", "mysql_begin"})
MAPPING = "[uprobes]"  # where the kernel runs the instructions that probes replaced
_UPROBE = ("uprobe_", "uretprobe_", "arch_uprobe_", "__uprobe_", "handle_swbp", "xol_", "__x64_sys_uretprobe")
_TRAP = ("asm_exc_int3", "exc_int3", "asm_exc_debug", "exc_debug_user", "el0_dbg", "el0_brk", "el0_softstp")
_OWN_PROGRAM = "perfdiag:"  # as in lib/recorder/program/probes.h
_BPF = re.compile(r"bpf_prog_[0-9a-f]{16}_(\w+)")


@once
def in_own_probe(model: Model) -> Callable[[schema.Stack], bool]:
    """Return what tells a sample inside a probe of perfdiag.  Probes of others (a tracer, an agent) are not, nor is a
    trap of a process under a debugger."""
    programs = {each.name for each in model.cost.programs if each.runs != 0} if model.cost else set()
    uprobes = bool(programs & IN_PROGRAMS)
    traced = {pid for pid, process in model.facts.processes.items() if process.tracer}

    frames = {frame for stack in model.stacks for frame in stack.kernel}  # each is judged once
    own = {
        frame
        for frame in frames
        if frame.startswith(_OWN_PROGRAM) or ((program := _BPF.match(frame)) and program[1] in programs)
    }
    at_probes = {frame for frame in frames if frame.startswith(_UPROBE)}
    at_traps = at_probes | {frame for frame in frames if frame.startswith(_TRAP)}

    def inside(stack: schema.Stack) -> bool:
        if not own.isdisjoint(stack.kernel):
            return True
        functions = at_probes if stack.pid in traced else at_traps
        at = module_of(stack.user[0]) if stack.user else ""
        return uprobes and (at == MAPPING or not functions.isdisjoint(stack.kernel))

    return inside

"""From the virtual machines of Java in a model to their part of the report."""

from perfdiag.common.text import printable
from perfdiag.model import java_machines as found
from perfdiag.model.model import Model
from perfdiag.report.contract.jvm import JavaCollector, JavaMachine, JavaPool


def java_machines(model: Model) -> list[JavaMachine]:
    """Return the virtual machines of the target, those that were stopped longest first."""
    return [_machine(each) for each in found.java_machines(model)]


def _machine(machine: found.JavaMachine) -> JavaMachine:
    return JavaMachine(
        pid=machine.pid,
        version=printable(machine.version),
        read_from=printable(machine.way),
        unread=printable(machine.unread),
        window_ns=machine.window_ns,
        stops=machine.stops,
        stopped_ns=machine.stopped_ns,
        reaching_ns=machine.reaching_ns,
        collecting_ns=machine.collecting_ns,
        collectors=[
            JavaCollector(name=printable(each.name), full=each.full, count=each.count, ns=each.ns)
            for each in machine.collectors
        ],
        generations=[_pool(each) for each in machine.generations],
        metaspace=_pool(machine.metaspace) if machine.metaspace else None,
        classes_loaded=machine.classes_loaded,
        classes_unloaded=machine.classes_unloaded,
        last_cause=printable(machine.cause),
        allocated_bytes=machine.allocated_bytes,
    )


def _pool(pool: found.Pool) -> JavaPool:
    return JavaPool(
        name=printable(pool.name),
        used_bytes=pool.used_bytes,
        committed_bytes=pool.committed_bytes,
        limit_bytes=pool.limit_bytes,
    )

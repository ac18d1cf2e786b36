"""What shows where the target's threads are: its stacks, or a tool of its own runtime when perfdiag cannot tell."""

import re

from perfdiag.model.model import Model

# By the module that stacks were found in, else by the name of the process.
_TOOLS = (
    (re.compile(r"\((libjvm\.so)"), re.compile(r"java"), "jstack {}"),
    (
        re.compile(r"\((libpython|python)[\d.]"),
        re.compile(r"python|gunicorn|uwsgi|uvicorn|celery"),
        "py-spy dump --pid {}",
    ),
    # Debian's has no names of its waits; and a debugger would stop all clients.
    (re.compile(r"\(mariadbd\)"), re.compile(r"mariadbd"), "mariadb{mysql} -e 'SHOW ENGINE INNODB STATUS\\G'"),
    (re.compile(r"\(mysqld\)"), re.compile(r"mysqld"), "mysql{mysql} -e 'SHOW ENGINE INNODB STATUS\\G'"),
    (re.compile(r"\(libruby"), re.compile(r"ruby|puma|unicorn|sidekiq"), "rbspy snapshot --pid {}"),
)
MYSQL_PORT = 3306
POSTGRES_PORT = 5432
_PORT = re.compile(r"port:(\d+)")
_ANY = "gdb -p {} -batch -ex 'thread apply all bt' (stops the process for a moment)"


def shows_stacks(model: Model, pid: int) -> str:
    """Return the command that shows what the threads of a process (0: the first target) are in, by its runtime.

    It has the word PID where all processes have ended: what runs then under the old number is another one.
    """
    process = _process(model, pid)
    return _tool(model, process) or _ANY.format(shown_pid(model, process))


def command_for_sleepers(model: Model, pid: int) -> str:
    """Return a short one, to follow a statement: "perfdiag latency --pid 7 --stacks --full"; "" where all stacks were
    recorded, and do not tell.

    Never a debugger's command cut short: gdb without -batch stops the process until somebody quits.
    """
    process = _process(model, pid)
    tool = _tool(model, process)
    if not tool and model.header.options.stacks == "all":
        return ""
    return tool or f"perfdiag latency --pid {shown_pid(model, process)} --stacks --full"


def port_option(model: Model, option: str, usual: int) -> str:
    """Return the option that lets a client ask the target's own server; "" where that is on the usual port, where
    several ports are served, or none is known."""
    served = [_PORT.fullmatch(each.line.object) for each in model.exchanges if each.served]
    ports = {int(found[1]) for found in served if found}
    ports |= {listener.port for listener in (model.facts.listeners.sockets if model.facts.listeners else ())}
    return option.format(*ports) if len(ports) == 1 and not model.host and usual not in ports else ""


def _process(model: Model, pid: int) -> int:
    return pid or next((target.pid for target in model.header.targets), 0)


def has_ended(model: Model) -> bool:
    """Whether all processes of the target ended in the window."""
    return model.coverage.reason in ("targets gone", "command ended")


def shown_pid(model: Model, process: int) -> str:
    """Return the pid for a command, PID of a target that has ended."""
    return "PID" if has_ended(model) else str(process)


def first_shown_pid(model: Model) -> str:
    """Return the same of the first target."""
    return shown_pid(model, _process(model, 0))


def _tool(model: Model, process: int) -> str:
    """Return the tool of the runtime of a process, "" where it has none."""
    comms = {thread.comm for thread in model.threads_of(process) if thread.tid == process}
    comms |= {target.comm for target in model.header.targets if target.pid == process}
    frames = [frame for stack in model.stacks_of(process) for frame in (*stack.user, *stack.scan)]
    for module, comm, tool in _TOOLS:
        if any(map(comm.match, comms)) or any(map(module.search, frames)):
            mysql = port_option(model, " --protocol=tcp --port={}", MYSQL_PORT)
            return tool.format(shown_pid(model, process), mysql=mysql)
    return ""


def with_stacks(model: Model, shows: str) -> str:
    """Return "perfdiag latency --stacks shows ...", or where that was recorded already that the full report does."""
    recorded = model.header.options.stacks == "all"
    return f"{'this report with --full' if recorded else 'perfdiag latency --stacks'} {shows}"

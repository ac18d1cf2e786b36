"""The counters in a recording's footer, in words."""

from perfdiag.common.units import count, plural

# A noun that takes an s, and what follows it.
_WORDS = {
    "bad_lines": ("line", " of the recording that cannot be read"),
    "because_full": ("wait", " without its root"),
    "calls_skipped": ("end", " of calls on this host not seen"),
    "connections_full": ("connection", " not followed"),
    "databases_full": ("database session", " whose waits have no names"),
    "detail_full": ("object", " of waits dropped"),
    "details": ("object", " of waits dropped at the end"),
    "devices_full": ("request", " of disks not counted"),
    "dirtiers_full": ("writer", " of dirty pages without a name"),
    "disk_users_full": ("piece", " of disk I/O without a process"),
    "events": ("event", " beyond what is kept"),
    "exchanges_full": ("request or call", " not counted"),
    "failed_calls_full": ("sleep", " behind a failed call not counted"),
    "exited_folded_full": ("ended thread", " dropped"),
    "files_full": ("read", " of files without a name"),
    "named_calls_full": ("call", " not counted by name"),
    "answers_full": ("answer", " that was an error, not counted"),
    "names_full": ("name", " not kept"),
    "operations_full": ("operation", " not counted"),
    "output_lines": ("line", " not written"),
    "peers_full": ("wait", " for other processes that were not looked at"),
    "programs_skipped": ("program run", " left out"),
    "ring_buffer": ("event", " that found the ring full"),
    "rpc_full": ("call", " of NFS not counted"),
    "snapshots_torn": ("record", " read while being written"),
    "stacks": ("stack", " dropped at the end"),
    "stacks_dropped": ("stack", " that found the ring full"),
    "stacks_failed": ("stack", " that could not be walked"),
    "statements_full": ("statement", " of SQL not counted"),
    "statements_torn": ("statement", " of SQL whose time is not known"),
    "storage_failed": ("thread", " without a record"),
    "statements_unread": ("statement", " of SQL whose text could not be read"),
    "switches_missing": ("change", " of tasks not announced"),
    "vm_exits_full": ("exit", " of virtual CPUs without a reason"),
    "wakeups_missing": ("wake-up", " not seen"),
}


def told(counter: str, number: int) -> str:
    """Return "5 events that found the ring full", or the name of a counter that only a newer recorder has."""
    if counter not in _WORDS:
        return f"{counter} {count(number)}"
    noun, rest = _WORDS[counter]
    return f"{plural(number, noun)}{rest}"

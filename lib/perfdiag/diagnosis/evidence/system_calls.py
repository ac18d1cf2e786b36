"""Which system call took the time of an operation."""

from perfdiag.recording import schema


def system_call(operation: schema.Operation) -> str:
    """Return the system call an operation is one kind of."""
    return operation.name.removeprefix("syscall:")

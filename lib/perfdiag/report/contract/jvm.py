"""What a Java virtual machine of the target counted itself."""

from perfdiag.report.contract.base import Part, Untrusted


class JavaCollector(Part, frozen=True, kw_only=True):
    """Collections of one kind in the window."""

    name: Untrusted
    full: bool  # of the whole heap
    count: int
    ns: int | None  # with all threads stopped; None: it is not told apart


class JavaPool(Part, frozen=True, kw_only=True):
    """A part of the memory at the end of the window; used is the least that was seen."""

    name: Untrusted
    used_bytes: int
    committed_bytes: int
    limit_bytes: int | None


class JavaMachine(Part, frozen=True, kw_only=True):
    """One virtual machine; None is not known."""

    pid: int
    version: Untrusted
    read_from: str  # "memory", "file" or "": its counters are not known
    unread: Untrusted  # why
    window_ns: int  # between the two readings
    stops: int | None
    stopped_ns: int | None  # from the request to stop until all may go on
    reaching_ns: int | None  # of that: until the last thread had stopped
    collecting_ns: int | None  # of that: collections; all of it where they are not told apart
    collectors: list[JavaCollector]
    generations: list[JavaPool]
    metaspace: JavaPool | None  # called permspace up to JDK 7
    classes_loaded: int | None
    classes_unloaded: int | None
    last_cause: Untrusted  # of a collection
    allocated_bytes: int | None = None  # by threads, to within what eden holds

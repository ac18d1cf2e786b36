"""Network file systems: calls and flushes of the client, requests of the server."""

from perfdiag.recording.schema.base import Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import Object, ProcedureName, Word


class Rpc(Line, tag="rpc"):
    """Remote procedure calls of one NFS mount and procedure, whoever caused them, from the kernel's own clocks."""

    object: Object  # "mount:0:45"; "server:10.0.0.5" where the mount is not known
    program: ProcedureName  # "nfs", "nlm" (locks of NFS 3), "nfsacl"
    version: Count  # of the program
    procedure: ProcedureName  # "WRITE", "COMMIT", ...
    count: Count
    errors: Count  # calls that ended without an answer, or with one that the kernel calls an error
    retransmits: Count
    bytes_sent: Count
    bytes_received: Count
    queue_ns: Nanoseconds  # in the client: from the call until it was sent
    wire_ns: Nanoseconds  # from sent to answered: the network both ways, and the server
    reply_ns: Nanoseconds  # in the client: from the answer until the call was done
    max_ns: Nanoseconds  # the longest call, all three together
    queue_buckets: Buckets
    wire_buckets: Buckets


class NfsFlush(Line, tag="nfs_flush"):
    """Flushes of files on one NFS mount by threads of the target, from begin to end; see `commits` for the kind."""

    object: Object  # "mount:0:45"
    cause: Word  # the system call: "fsync", "close", ...; "" where it is not known
    count: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    buckets: Buckets
    commits: Count  # COMMITs of these files begun meanwhile, whoever began them (two flushes at once both count them)
    writes: Count  # WRITEs, likewise
    stable_writes: Count  # of them those that the server must not answer before the data is safe (FILE_SYNC)
    bytes: Count  # of all WRITEs


class NfsServer(Line, tag="nfs_server"):
    """Requests that this host's own NFS server served, whoever asked, by procedure; of NFS 4 also each operation."""

    program: ProcedureName
    version: Count
    procedure: ProcedureName
    count: Count
    sum_ns: Nanoseconds  # from taken up by a thread of the server until answered
    max_ns: Nanoseconds
    buckets: Buckets

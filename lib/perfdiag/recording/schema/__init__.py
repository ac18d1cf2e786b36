"""The recording: one JSON object a line, and the only place where recorder and Python meet.

Every line has a ``type``.  All times are nanoseconds of CLOCK_MONOTONIC unless the name says otherwise.
Sums are cumulative since the start of the window, so a lost or cut-off line costs freshness, never truth.
Names that come from the target (comm, paths, functions, peers) are hostile bytes: see `UNTRUSTED_FIELDS`.
The prose twin of this package is perfdiag-recording(5); a test compares the two.
"""

from perfdiag.recording.schema.applications import Application, DatabaseWait, SqlCall, Statement
from perfdiag.recording.schema.base import AccountSum, Line
from perfdiag.recording.schema.machine import Calibration, Cpu, Fact, VmExit
from perfdiag.recording.schema.network import PacketDrop, Socket
from perfdiag.recording.schema.nfs import NfsFlush, NfsServer, Rpc
from perfdiag.recording.schema.requests import (
    LATENCY_BUCKETS,
    LATENCY_STEPS,
    LATENCY_UNIT_NS,
    Answer,
    CallLevel,
    Exchange,
    Latency,
    LeftPart,
    Level,
    NamedCall,
    PartSum,
    RequestLeft,
    RequestParked,
    RequestsInside,
    RequestUnread,
    Silent,
    unread_ns,
)
from perfdiag.recording.schema.storage import Device, Dirtier, DiskUser, FileFlush, FileRead, Writeback
from perfdiag.recording.schema.threads import Exited, FutexSum, Interval, OpenWait, Process, Thread
from perfdiag.recording.schema.waits import (
    Because,
    Detail,
    FailedCall,
    Interpreter,
    Operation,
    PeerStack,
    PeerWait,
    Stack,
    Unnamed,
)
from perfdiag.recording.schema.window import (
    NO_TIME_LOST,
    OWN_ENGINE,
    Cost,
    Event,
    Footer,
    GivenUp,
    Header,
    Host,
    Objective,
    Options,
    Probe,
    ProgramCost,
    Target,
)

SCHEMA_VERSION = 1

UNTRUSTED_FIELDS = frozenset(
    {
        "comm",
        "waker_comm",
        "by_comm",
        "text",
        "kernel",
        "user",
        "scan",
        "script",
        "file",
        "object",
        "root_object",
        "name",
        "path",
        "local",
    }
)

AnyLine = (
    Header
    | Fact
    | Thread
    | Exited
    | Process
    | Interval
    | Detail
    | Because
    | Stack
    | FailedCall
    | Interpreter
    | Unnamed
    | Application
    | DatabaseWait
    | NamedCall
    | Answer
    | PeerStack
    | PeerWait
    | SqlCall
    | Statement
    | Device
    | Rpc
    | NfsFlush
    | NfsServer
    | Cpu
    | VmExit
    | FileFlush
    | FileRead
    | Writeback
    | Dirtier
    | DiskUser
    | PacketDrop
    | Socket
    | Exchange
    | RequestLeft
    | RequestParked
    | RequestUnread
    | RequestsInside
    | Silent
    | Latency
    | Calibration
    | Operation
    | Event
    | GivenUp
    | Footer
)

__all__ = [
    "LATENCY_BUCKETS",
    "LATENCY_STEPS",
    "LATENCY_UNIT_NS",
    "NO_TIME_LOST",
    "OWN_ENGINE",
    "SCHEMA_VERSION",
    "UNTRUSTED_FIELDS",
    "AccountSum",
    "Answer",
    "AnyLine",
    "Application",
    "Because",
    "Calibration",
    "CallLevel",
    "Cost",
    "Cpu",
    "DatabaseWait",
    "Detail",
    "Device",
    "Dirtier",
    "DiskUser",
    "Event",
    "Exchange",
    "Exited",
    "Fact",
    "FailedCall",
    "FileFlush",
    "FileRead",
    "Footer",
    "FutexSum",
    "GivenUp",
    "Header",
    "Host",
    "Interpreter",
    "Interval",
    "Latency",
    "LeftPart",
    "Level",
    "Line",
    "NamedCall",
    "NfsFlush",
    "NfsServer",
    "Objective",
    "OpenWait",
    "Operation",
    "Options",
    "PacketDrop",
    "PartSum",
    "PeerStack",
    "PeerWait",
    "Probe",
    "Process",
    "ProgramCost",
    "RequestLeft",
    "RequestParked",
    "RequestUnread",
    "RequestsInside",
    "Rpc",
    "Silent",
    "Socket",
    "SqlCall",
    "Stack",
    "Statement",
    "Target",
    "Thread",
    "Unnamed",
    "VmExit",
    "Writeback",
    "unread_ns",
]

"""The most that a recorder writes of every kind of line, list and text.  A recording with more is refused.

Each number is one of the recorder's, or follows from some: `RECORDER` says which, and a test compares them with the C
sources.  Texts are counted in characters, of which a byte never makes more than one.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

LINE_BYTES = 4 << 20  # a header with all targets and programs, each byte of a name escaped, has half of it

# Constants of bpf/ and lib/recorder/ by name; of a table of the kernel side, its entries.
RECORDER: Mapping[str, int] = {
    "ACTIVE_ROWS": 1000,
    "ASKED_BYTES": 2048,
    "BUCKETS": 32,
    "CHAIN_STEPS": 3,
    "COMM_BYTES": 16,
    "COMPETITORS": 8,
    "DETAILS": 14,
    "DIGEST_BYTES": 240,
    "DETAIL_ENTRIES": 65_536,
    "EVENT_LINES": 32_768,
    "EXIT_ROWS": 1000,
    "FACTS_PATHS_MAX": 8192,
    "FACTS_TEXT_MAX": 64 * 1024,
    "FACTS_TEXTS_MAX": 8 * 1024 * 1024,
    "FOLDS": 1000,
    "CPUS_MAX": 8192,
    "IDLE_STATES": 10,
    "LATENCY_DOUBLINGS": 27,
    "LEVELS": 64,
    "LIMITS": 32,
    "LONGEST_SYMBOL_NAME": 512,
    "PEER_STACK_ENTRIES": 1024,
    "LONG_TURN_NS": 10_000_000,
    "MAX_TARGETS": 4096,
    "NEAREST_GROUPS": 48,
    "PROGRAMS_MAX": 8,
    "REQUEST_NAME_BYTES": 55,
    "REST_NAMES": 500,
    "RPC_NAME_BYTES": 24,
    "SCAN_NAMES": 48,
    "SCRIPT_FILES_MET": 16,
    "SCRIPT_FRAMES": 16,
    "STACK_ENTRIES": 4096,
    "STACK_FRAMES": 48,
    "THREAD_ROWS": 10_000,
    "TOPMOST_GROUPS": 16,
    "TOP_OF_ACCOUNT": 20,
    "TOP_PROCESSES": 200,
    "TOP_THREADS": 64,
    "MOST_LEFT_OBJECTS": 1024,
    "MOST_SILENT": 2048,
    "MOST_STEPS": 32,
    "UNNAMED_FILES": 64,
    "UNREAD_PARTS": 12,
    "answers": 512,
    "because": 8192,
    "devices": 1024,
    "dirtiers": 2048,
    "disk_users": 1024,
    "exchanges": 4096,
    "failed_calls": 512,
    "files": 4096,
    "named_calls": 512,
    "nfs_flushes": 1024,
    "nfsd_requests": 512,
    "operations": 1024,
    "requests_parked": 4096,
    "requests_unread": 8192,
    "rpcs": 4096,
    "said_waits": 16_384,
    "sockets": 4096,
    "packet_drops": 2048,
    "peer_waits": 2048,
    "sql_calls": 512,
    "statements": 288,
    "vm_exits": 4096,
    "writebacks": 512,
}
PATH_CHARACTERS = 4096  # PATH_MAX of Linux
CAPABILITIES = 64  # bits of a set of them
ACCOUNTS = 64  # of a list, and of all lines together: there are 46 (ACCOUNT_COUNT), a newer recorder may have more
SCRIPT_ACCOUNTS = 32  # that a script can tell: tools/ledger.py 24, the others 19; a newer one may have more
SCRIPT_THREADS = 10_240  # THREADS of tools/ledger.py; tools/ledger.bt has room for 127, dtrace/ledger.d for 4 MB
COUNTERS = 64  # of the footer: COUNTER_COUNT and the recorder's own
PROBES = 256  # there are 63


def _table(name: str) -> int:
    """Return how many lines a table can become: CPUs that add to it at the same time can pass its end."""
    return RECORDER[name] + RECORDER[name] // 16


# The most lines by type; of a type whose lines replace older ones about the same thing, the most things.
LINES: Mapping[str, int] = {
    "answer": _table("answers"),
    "application": RECORDER["PROGRAMS_MAX"],
    "because": _table("because"),
    "calibration": 8,  # two are written
    "cpu": RECORDER["CPUS_MAX"],
    "database_wait": _table("said_waits"),
    "detail": _table("DETAIL_ENTRIES"),
    "device": _table("devices"),
    "dirtier": _table("dirtiers"),
    "disk_user": _table("disk_users"),
    "event": RECORDER["EVENT_LINES"],
    "exchange": _table("exchanges"),
    "exited": RECORDER["FOLDS"] + 1,
    "fact": 2 * (RECORDER["FACTS_PATHS_MAX"] + 4),
    "failed_call": _table("failed_calls"),
    "given_up": RECORDER["MOST_STEPS"],
    "file_flush": _table("files"),
    "file_read": _table("files"),
    "interpreter": RECORDER["SCRIPT_FILES_MET"],
    "latency": 3 * _table("exchanges"),
    "named_call": _table("named_calls"),
    "nfs_flush": _table("nfs_flushes"),
    "nfs_server": _table("nfsd_requests"),
    "operation": _table("operations"),
    "process": RECORDER["TOP_PROCESSES"]
    + RECORDER["TOP_OF_ACCOUNT"] * ACCOUNTS
    + RECORDER["TOP_THREADS"]
    + RECORDER["REST_NAMES"]
    + 1,
    "request_left": 4 * RECORDER["MOST_LEFT_OBJECTS"],
    "request_parked": _table("requests_parked"),
    "request_unread": _table("requests_unread"),
    "requests_inside": 1,
    "rpc": _table("rpcs"),
    "silent": RECORDER["MOST_SILENT"],
    "packet_drop": _table("packet_drops"),
    "peer_stack": RECORDER["PEER_STACK_ENTRIES"],
    "peer_wait": _table("peer_waits"),
    "socket": _table("sockets"),
    "sql_call": _table("sql_calls"),
    "stack": RECORDER["STACK_ENTRIES"],
    "statement": _table("statements"),
    "thread": RECORDER["THREAD_ROWS"] + RECORDER["ACTIVE_ROWS"] + RECORDER["EXIT_ROWS"],
    "unnamed": RECORDER["UNNAMED_FILES"] + 8,  # of other files one for each reason
    "vm_exit": _table("vm_exits"),
    "writeback": _table("writebacks"),
}
FACT_CHARACTERS = 2 * RECORDER["FACTS_TEXTS_MAX"]  # of the texts at the begin and at the end together

# Of lines that say nothing: blank, damaged, or of a kind that is not known; a newer recorder may fill a table of those.
UNREAD_LINES = 100_000

# What keeps a report within 300 MB, whatever is recorded: one with all tables full has 216, and 15 of names.
MOST_KEPT_BYTES = 217 << 20  # of lines that count: but facts, of each thing the first
MOST_NAMES_BYTES = 24 << 20  # of different names in them


def at_most(number: int) -> Any:
    """Return the bound of a list or text."""
    return msgspec.Meta(max_length=number)


Word = Annotated[str, at_most(128)]  # what no target chooses: kinds, phases, reasons, names of programs and accounts
Account = Annotated[str, msgspec.Meta(max_length=128, title="account")]  # a word that is counted: see ACCOUNTS
# "254:0": also part of commands
DeviceNumber = Annotated[str, msgspec.Meta(max_length=21, pattern=r"^[0-9]{1,10}:[0-9]{1,10}\Z")]
Comm = Annotated[str, at_most(RECORDER["COMM_BYTES"])]
TargetComm = Annotated[str, at_most(63)]  # of /proc/PID/status: a thread of the kernel can have more than 16 bytes
Object = Annotated[str, at_most(128)]  # a file's numbers and name take 108
Digest = Annotated[str, at_most(RECORDER["DIGEST_BYTES"])]
RequestName = Annotated[str, at_most(RECORDER["REQUEST_NAME_BYTES"])]
ProcedureName = Annotated[str, at_most(RECORDER["RPC_NAME_BYTES"])]
Symbol = Annotated[str, at_most(RECORDER["LONGEST_SYMBOL_NAME"])]
Reason = Annotated[str, at_most(160)]  # struct probe_state
Because = Annotated[str, at_most(512)]  # struct lack
Asked = Annotated[str, at_most(RECORDER["ASKED_BYTES"])]
Path = Annotated[str, at_most(PATH_CHARACTERS)]
Text = Annotated[str, at_most(RECORDER["FACTS_TEXT_MAX"])]

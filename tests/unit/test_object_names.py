"""Objects in words; what is hostile, broken or unknown is shown as recorded, made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.facts.host_facts import Facts
from perfdiag.model import object_names
from perfdiag.model.object_names import Names

from conftest import ROOT
from unit.support import Builder, facts


def names() -> Names:
    recording = (
        Builder()
        .thread("app")
        .thread("helper", pid=200)
        .fact("/proc/diskstats", " 254       0 vda 1 0 8 1 1 0 8 1 0 2 2\n")
        .fact("/sys/devices/system/cpu/cpu0/cpuidle/state1/name", "haltpoll idle\n")
        .fact("/proc/self/mountinfo", "30 1 0:51 / /srv rw - nfs4 nas1:/jobs rw\n")
        .fact("/proc/100/mountinfo", "30 1 0:51 / /srv rw - nfs4 nas1:/jobs rw\n")
        .recording()
    )
    return Names(Facts.parse(recording.facts), recording)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", ""),
        ("device:254:0", "vda (254:0)"),
        ("device:8:0", "8:0"),
        ("peer:[::1]:80", "[::1]:80"),
        ("peer:[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("task:7:cc1", "cc1 (7)"),
        ("task:7:", "(no name) (7)"),
        ("task:7", "(name not kept) (7)"),
        ("unix:7", "a socket made by (name not kept) (7)"),
        ("own:7", "own thread (name not kept) (7)"),
        ("own:7:app", "own thread app (7)"),
        ("unix:7:bus", "a socket made by bus (7)"),
        ("abstract:/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0"),
        ("abstract:a:\x1b[2J\0b\0\0", "@a:\\x1b[2J\\x00b"),
        ("abstract:\0\0\0", "@ (3 zero bytes)"),
        (f"abstract:{'x' * 54}", f"@{'x' * 54}"),
        (f"abstract:{'x' * 55}", f"@{'x' * 55}..."),
        ("abstract:" + "\ufffd" * 54, "@" + "\ufffd" * 54),
        ("abstract", "abstract"),
        ("syscall:mbind", "mbind()"),
        ("function:down_read", "down_read()"),
        ("port:80", "port 80"),
        ("pipe:12", "pipe 12"),
        ("futex:0x10", "futex 0x10"),
        ("inflight", "requests in flight"),
        ("idle:2", "idle state 2"),
        ("idle:1", "halt of this guest"),
        ("idle:1:left", "halt of this guest, left before"),
        ("file:254:0:77", "inode 77 on vda (254:0)"),
        ("file:254:0:77:orders: [1].ibd", "orders: [1].ibd (inode 77) on vda (254:0)"),
        ("cgroup:42", "cgroup 42"),
        ("file:0:51:17:app.sock", "app.sock (inode 17) below /srv"),
        ("mount:0:51", "nas1:/jobs on /srv (nfs4)"),
        ("mount:0:99", "file system 0:99"),
        ("lock:walwrite", "PostgreSQL's WALWriteLock"),
        ("lock:gil:100", "the GIL of app (100)"),
        ("lock:novel", "lock:novel"),
        ("novel:thing", "novel:thing"),
        ("idle:x", "idle:x"),
        ("file:a:b:c", "file:a:b:c"),
        ("pipe:", "pipe:"),
        ("task:7:\x1b[2J\u202e", "\\x1b[2J\\u202e (7)"),
    ],
)
def test_words(key: str, words: str) -> None:
    assert names().resolve(key) == words


JOBS, TEMPORARY = "30 1 0:51 / /srv rw - nfs4 nas1:/jobs rw\n", "31 1 0:51 / /run/user/7 rw - tmpfs tmpfs rw\n"
NEXT = "30 1 0:51 / /srv rw - nfs4 nas2:/jobs rw\n"
JOBS_NAME, TEMPORARY_NAME = "nas1:/jobs on /srv (nfs4)", "tmpfs on /run/user/7 (tmpfs)"


@pytest.mark.parametrize(
    ("begin", "end", "words"),
    [
        (JOBS, "", JOBS_NAME),
        ("", TEMPORARY, TEMPORARY_NAME),
        (JOBS, TEMPORARY, f"{JOBS_NAME}, or later {TEMPORARY_NAME}"),
        (JOBS, NEXT, f"{JOBS_NAME}, or later nas2:/jobs on /srv (nfs4)"),
        (JOBS, JOBS.replace("rw", "ro"), JOBS_NAME),  # the same, with other options
        (JOBS + JOBS.replace("/srv", "/mnt/jobs"), JOBS.replace("/srv", "/mnt/jobs"), JOBS_NAME),
        (JOBS, None, JOBS_NAME),
        (None, TEMPORARY, TEMPORARY_NAME),
    ],
)
def test_a_number_that_another_mount_gets(begin: str | None, end: str | None, words: str) -> None:
    """The kernel gives the number of what was unmounted to the next: which of the two it was cannot be told."""
    path = "/proc/self/mountinfo"
    known = facts.facts({path: begin} if begin is not None else {}, {path: end} if end is not None else {})
    assert Names(known, Builder().thread("app").recording()).resolve("mount:0:51") == words


KINDS = ["device", "peer", "unix", "task", "own", "cgroup", "idle", "file", "mount", "vmexit", "port", "function", ""]


@given(st.sampled_from(KINDS), st.text(max_size=40))
def test_no_object_breaks_or_commands(kind: str, rest: str) -> None:
    assert names().resolve(f"{kind}:{rest}").isprintable()


def test_as_much_of_an_abstract_name_is_kept_as_the_report_takes_for_a_cut_one() -> None:
    text = (ROOT / "bpf/core/records/objects.h").read_text()
    assert f"#define ABSTRACT_NAME_BYTES {object_names.ABSTRACT_NAME_BYTES} " in text

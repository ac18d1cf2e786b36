"""Who is right where perfdiag and the witnesses differ, and how that was found: prose for the table."""

from __future__ import annotations

VERDICTS = {
    "runqlat": """\
All agree. A histogram tells a total within a factor of two, no better; perfdiag adds up nanoseconds.
bcc's `runqlat -P`, which tells processes apart, was tried too and is wrong: it had none of the waits of these threads,
and 1,543 of 10,000 of another program. Its table has 64 rows, one for each process and power of two, which a few
processes fill; what comes later is not counted, and nothing says so. With the padding of its key cleared, which else
makes several rows of one, it had all 10,000, and still none of these threads. `-p` counts right, and so does
libbpf-tools' `runqlat -P`. With -P, a round trip between two processes takes 2,877 instructions more beside
libbpf-tools' (1.23 times as many), 3,126 beside bcc's (1.25), 7,695 beside perfdiag (1.62).""",
    "biolatency": """\
perfdiag and libbpf-tools agree. bcc's biolatency does not run on this kernel: it wants to trace a function that the
compiler has merged into another one. perfdiag's figure is a little below the program's own because it ends with the
request, and the program still has to wake up.""",
    "offcputime": """\
perfdiag is right. To the witnesses every wait on a futex is alike: the 2.0 s in which the main thread waits in
pthread_join(3) for the others stand there with the same functions of the kernel as the waits for the lock, and no stack
that they printed names either. Of the three threads alone they said 3,873 ms in a run in which perfdiag said 3,823: the
rest is the wait for a CPU after the lock was free, an account of its own. perfdiag sees who wakes whom, on which futex:
a lock is what several threads take in turn. libbpf-tools' offcputime keeps 1,024 stacks: of the whole guest, without
`-p`, it once had none for this program's threads, whose times then stand there without a name.""",
    "cachestat": """\
perfdiag is right. libbpf-tools' cachestat 0.26 hooks a function that Linux 5.15 renamed, so it does not load. bcc's
runs and is wrong, which is worse: on this kernel pages get into the cache by filemap_add_folio(), but it counts
add_to_page_cache_lru(). It says 100 % hits while every other read waits for the disk. perfdiag's `file_read` lines
count what the target's own threads brought in, read-ahead included; they do not count hits. The load
costs nothing with either: no probe of theirs is met when the same page of a file is read from memory again.""",
    "kvmexit": """\
bcc's kvmexit wants a processor of Intel's, and the emulated one, like every AMD one, is none: no second opinion can be
had here. libbpf-tools has no such tool. On an Intel processor it would mislead on this kernel: it takes the first
argument of the tracepoint kvm_exit for the reason, which here is the address of the virtual CPU (read from its source,
not tried). perfdiag's count is compared with what the emulator has counted itself.""",
    "nfsslower": """\
libbpf-tools' nfsslower and perfdiag agree with the program. bcc's nfsslower does not trace fsync(2). It times COMMITs,
here half to two thirds of a flush: the WRITEs before it, for which fsync(2) waits as well, are not in it. It also names
a kworker as the process, so `-p` finds no COMMIT at all. libbpf-tools' prints LL_MAX as the size of a flush.
No tool makes an fsync(2), which takes some 600,000 instructions here, cheaper: the percent fewer that was counted
beside both witnesses is the noise of this load, and the percent more beside perfdiag is not above it.""",
    "ugc": """\
None of the three answers well. libbpf-tools' javagc does not run: the kernel refuses its uprobe (why was not found; bcc
attaches to the same JVM). bcc's ugc prints nine rows for a collection, one for each pool of memory and one that lasts
longest, all described as None, since a function that describes them returns nothing. Added up they are nine times too
much; the longest of each nine were 1,504 ms in a run whose truth was 1,463 ms, but nothing in the output says so.
A recording does not know of collections: perfdiag's answer here is what the thread that collects did on a CPU or
waiting for one, whatever for. `tools/jvmgc.bt` asks the JVM's own probes and counts each collection once; its test
allows 2 %.""",
}


__all__ = ["VERDICTS"]

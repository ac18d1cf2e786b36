#!/usr/sbin/dtrace -s
/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * vmexit.d - Why do virtual CPUs leave their guest, how often, and for how long?
 *
 * A guest runs at full speed until something needs its host: an interrupt, an instruction that KVM emulates, or a
 * device that user space (QEMU) emulates. The guest waits meanwhile. Exits to the kernel take a microsecond,
 * those to user space many; only while a guest halts it has nothing to do.
 *
 * USAGE
 *   vmexit.d [PID [SECONDS]]
 *   PID      the process whose virtual CPUs are traced, such as QEMU; without it, or 0: all guests of the host
 *   SECONDS  how long to trace; without it: until Ctrl-C
 *
 * OS
 *   Linux    run: DTrace 2.0.7, Linux 6.12
 *   illumos  none: it needs tracepoints of Linux
 *   FreeBSD  none: it needs tracepoints of Linux
 *   macOS    none: it needs tracepoints of Linux
 *
 * REQUIRES
 *   DTrace for Linux, root; x86 with kvm_amd or kvm_intel loaded: probes sdt:kvm::kvm_exit, kvm_entry and
 *   kvm_userspace_exit.
 *
 * FIELDS
 *   exits   exits by WHERE and CODE that ended: how many, mean and sum of their lengths in nanoseconds.
 *           WHERE is kernel where KVM handled it, user where user space was asked, signal where a signal or an
 *           error took the thread out of KVM. CODE is that of the processor: on AMD 96 INTR, 114 CPUID, 120 HLT,
 *           123 IOIO, 124 MSR, 1024 NPF; on Intel 1 EXTERNAL_INTERRUPT, 10 CPUID, 12 HLT, 30 IO_INSTRUCTION,
 *           31 MSR_READ, 32 MSR_WRITE, 48 EPT_VIOLATION, 49 EPT_MISCONFIG
 *   stays   stays in the guest: how many, mean and sum of their lengths in nanoseconds
 *   unseen  entries without an exit: the first of each virtual CPU; more were lost
 *
 * EXAMPLE
 *   # vmexit.d 818
 *   Tracing exits of virtual CPUs. Ctrl-C ends.
 *   exits:
 *     kernel   1024   count 1, average 1892328, total 1892328
 *     kernel   96     count 11, average 392217, total 4314395
 *     user     120    count 69, average 1402799, total 96793156
 *     user     1024   count 93, average 99723, total 9274267
 *     user     123    count 462, average 149062, total 68866990
 *     kernel   114    count 633, average 37917, total 24001885
 *   stays: count 1270, average 56015, total 71139888
 *   unseen: 1
 *
 *   A guest of three rounds writes and reads ports that user space emulates (123 IOIO, user), and asks for the
 *   processor's features, which KVM answers itself (114 CPUID, kernel). In 120, HLT, the guest is idle; what can be
 *   saved is IOIO: a device that the kernel emulates, or virtio.
 *
 * OVERHEAD
 *   Attaches in 13 s and takes 105 MiB. Adds 19,963 instructions to each KVM exit to the kernel (CPUID), which then
 *   executes 9.65 times as many (9.65 to 9.65). Measured with DTrace 2.0.7 in an emulated Linux 6.12.117+deb13-amd64
 *   with 2 CPUs by make bench ARGS=dtrace.
 *
 * CAVEATS
 *   An exit lasts until the guest runs again: waits for a CPU, sleep and what user space does besides are in it.
 *   A halt (HLT) is a guest without work and costs nothing, unless the host is busy polling (halt_poll_ns) meanwhile.
 *   The last exit of a virtual CPU, after which it never runs again, is missing.
 *
 * SEE ALSO
 *   perfdiag-latency(8): KVM-EXIT-EMULATED-IO KVM-EXIT-STORM KVM-GUEST-CPU KVM-HALT-POLLING
 */
#pragma D option quiet
#pragma D option defaultargs

inline int target = $1; /* PID: a number */
inline int seconds = $2; /* SECONDS: a number */

self uint64_t inside; /* since when it is in the guest */
self uint64_t outside; /* since when it is not */

/* tell that it traces */
dtrace:::BEGIN
{
	printf("Tracing exits of virtual CPUs. Ctrl-C ends.\n");
}

/* book a stay in the guest */
sdt:kvm::kvm_exit
/self->inside != 0/
{
	@stays = count();
	@average_stay_ns = avg(timestamp - self->inside);
	@total_stay_ns = sum(timestamp - self->inside);
	self->inside = 0;
}

/* begin an exit */
sdt:kvm::kvm_exit
/target == 0 || pid == target/
{
	self->outside = timestamp;
	self->code = arg0;
	self->where = "kernel";
}

/* note that user space is asked: 10 is KVM_EXIT_INTR, a signal */
sdt:kvm::kvm_userspace_exit
/self->outside != 0/
{
	self->where = arg0 == 10 || arg1 != 0 ? "signal" : "user";
}

/* count an entry whose exit was not seen */
sdt:kvm::kvm_entry
/self->outside == 0 && (target == 0 || pid == target)/
{
	@unseen = count();
}

/* book an exit */
sdt:kvm::kvm_entry
/self->outside != 0/
{
	@exits[self->where, self->code] = count();
	@average_ns[self->where, self->code] = avg(timestamp - self->outside);
	@total_ns[self->where, self->code] = sum(timestamp - self->outside);
	self->outside = 0;
	self->code = 0;
	self->where = 0;
}

/* begin a stay in the guest */
sdt:kvm::kvm_entry
/target == 0 || pid == target/
{
	self->inside = timestamp;
}

/* end after so many seconds */
profile:::tick-1s
/seconds > 0 && ++seconds_passed >= seconds/
{
	exit(0);
}

/* print the tables, each under its name */
dtrace:::END
{
	printf("\nexits:\n");
	printa("  %-8s %-6d count %@d, average %@d, total %@d\n", @exits, @average_ns, @total_ns);
	printa("stays: count %@d, average %@d, total %@d\n", @stays, @average_stay_ns, @total_stay_ns);
	printa("unseen: %@d\n", @unseen);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kvm_guest - a virtual machine of a few bytes that leaves its guest a known number of times for each reason: time goes
 *             to vm.guest, vm.exit and vm.halt.  The user space of it is the emulator of all its devices.
 */
#include "workload.h"
#include <linux/kvm.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define MEMORY 0x10000
#define CODE 0x1000
#define HANDLER 0x800
#define VECTOR 0x20
#define SERIAL 0x3f8
#define DISK 0x1f0
#define PORTS 0x1000 /* from here on */
#define END 0xf4
#define NOWHERE_SEGMENT 0x2000 /* address 0x20000: no memory there */
#define LATE_SEGMENT 0x3000    /* address 0x30000: memory whose pages this process supplies when they are touched */
#define LATE_PAGES 15
#define PAGE 4096
#define VCPUS 512

static long outs = 101, ins = 53, cpuids = 211, writes = 31, halts = 23, spins = 200000, rounds = 1, vcpus = 1;
static long service_us, halt_us = 1000, irqchip, ports, pages, page_us = 1000;
static int vm, faults;
static volatile bool ended;

/* What the emulator's side has measured, over all virtual CPUs. */
static uint64_t run_ns, service_ns, asked_out, asked_in, asked_mmio, asked_halt, asked_pages;

struct code {
	uint8_t *at;
};

static void byte(struct code *code, int value)
{
	*code->at++ = value;
}

static void word(struct code *code, int value)
{
	byte(code, value & 0xff);
	byte(code, value >> 8 & 0xff);
}

static void bytes(struct code *code, int count, const uint8_t *values)
{
	for (int i = 0; i < count; i++)
		byte(code, values[i]);
}

#define BYTES(code, ...) bytes(code, sizeof((uint8_t[]){ __VA_ARGS__ }), (uint8_t[]){ __VA_ARGS__ })

/* mov si, count; 1: body; dec si; jnz 1b (si is the one that cpuid spares) */
#define REPEAT(code, count, ...)                                                                                       \
	do {                                                                                                           \
		uint8_t *top;                                                                                          \
		if (!(count))                                                                                          \
			break;                                                                                         \
		byte(code, 0xbe);                                                                                      \
		word(code, count);                                                                                     \
		top = (code)->at;                                                                                      \
		BYTES(code, __VA_ARGS__);                                                                              \
		BYTES(code, 0x4e, 0x75, (uint8_t)(top - (code)->at - 3));                                              \
	} while (0)

static void write_out(struct code *code, int port, int value)
{
	BYTES(code, 0xb0, value, 0xe6, port); /* mov al, value; out port, al */
}

/* One round of the guest's life; real mode, 16 bits. */
static void write_round(struct code *code)
{
	BYTES(code, 0xba, SERIAL & 0xff, SERIAL >> 8); /* mov dx, SERIAL */
	REPEAT(code, outs, 0xee);		       /* out dx, al */
	BYTES(code, 0xba, DISK & 0xff, DISK >> 8);
	REPEAT(code, ins, 0xec); /* in al, dx */
	BYTES(code, 0xba, PORTS & 0xff, PORTS >> 8);
	REPEAT(code, ports, 0xec, 0x42);		    /* in al, dx; inc dx */
	REPEAT(code, cpuids, 0x66, 0x31, 0xc0, 0x0f, 0xa2); /* xor eax, eax; cpuid */
	REPEAT(code, writes, 0xc6, 0x06, 0x00, 0x00, 0x01); /* mov byte [0], 1 */
	if (spins) {					    /* mov ecx, spins; 1: dec ecx; jnz 1b */
		BYTES(code, 0x66, 0xb9, spins & 0xff, spins >> 8 & 0xff, spins >> 16 & 0xff, spins >> 24 & 0xff);
		BYTES(code, 0x66, 0x49, 0x75, 0xfc);
	}
	REPEAT(code, halts, 0xf4); /* hlt */
}

/* Touches each late page once. */
static void touch_pages(struct code *code)
{
	BYTES(code, 0xb8, LATE_SEGMENT & 0xff, LATE_SEGMENT >> 8, 0x8e, 0xd8); /* mov ax, segment; mov ds, ax */
	for (int i = 0; i < pages; i++) {
		BYTES(code, 0xc6, 0x06); /* mov byte [page], 1 */
		word(code, i * PAGE);
		byte(code, 1);
	}
}

static void write_code(uint8_t *memory)
{
	struct code code = { memory + HANDLER };
	uint8_t *top;

	write_out(&code, 0x20, 0x20); /* end of interrupt */
	byte(&code, 0xcf);	      /* iret */
	*(uint16_t *)(memory + VECTOR * 4) = HANDLER;
	code.at = memory + CODE;
	if (pages)
		touch_pages(&code);
	BYTES(&code, 0xb8, NOWHERE_SEGMENT & 0xff, NOWHERE_SEGMENT >> 8, 0x8e, 0xd8); /* mov ax, segment; mov ds, ax */
	if (irqchip) {
		write_out(&code, 0x20, 0x11); /* the interrupt controller: vectors, one chip, x86 */
		write_out(&code, 0x21, VECTOR);
		write_out(&code, 0x21, 0x04);
		write_out(&code, 0x21, 0x01);
		write_out(&code, 0x21, 0x00);
		byte(&code, 0xfb); /* sti */
	}
	byte(&code, 0xbd); /* mov bp, rounds */
	word(&code, rounds);
	top = code.at;
	write_round(&code);
	byte(&code, 0x4d); /* dec bp; jz over the jump; jmp top */
	BYTES(&code, 0x74, 0x03, 0xe9);
	word(&code, top - code.at - 2);
	write_out(&code, END, 0);
}

static int make_vcpu(int kvm, int number)
{
	struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[100];
	} cpuid = { .head.nent = 100 };
	struct kvm_regs registers = { .rip = CODE, .rsp = 0x700, .rflags = 2 };
	struct kvm_mp_state runnable = { KVM_MP_STATE_RUNNABLE };
	struct kvm_sregs segments;
	int vcpu = CHECK(ioctl(vm, KVM_CREATE_VCPU, number));

	CHECK(ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &cpuid));
	CHECK(ioctl(vcpu, KVM_SET_CPUID2, &cpuid));
	CHECK(ioctl(vcpu, KVM_GET_SREGS, &segments));
	segments.cs.base = segments.cs.selector = 0;
	CHECK(ioctl(vcpu, KVM_SET_SREGS, &segments));
	CHECK(ioctl(vcpu, KVM_SET_REGS, &registers));
	if (irqchip)
		CHECK(ioctl(vcpu, KVM_SET_MP_STATE, &runnable)); /* all but the first wait to be started */
	return vcpu;
}

static void add(uint64_t *sum, uint64_t more)
{
	__sync_fetch_and_add(sum, more);
}

/* Emulates what the guest asked for; false at its end. */
static bool serve(struct kvm_run *run)
{
	uint64_t begin = now_ns();

	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		if (run->io.port == END)
			return false;
		add(run->io.direction == KVM_EXIT_IO_IN ? &asked_in : &asked_out, 1);
		if (service_us)
			spin_until(begin + service_us * 1000);
		break;
	case KVM_EXIT_MMIO: add(&asked_mmio, 1); break;
	case KVM_EXIT_HLT:
		add(&asked_halt, 1);
		sleep_ns(halt_us * 1000);
		break;
	case KVM_EXIT_INTR: break;
	default: fprintf(stderr, "exit %u, error %u\n", run->exit_reason, run->internal.suberror); exit(1);
	}
	add(&service_ns, now_ns() - begin);
	return true;
}

static void *run_vcpu(void *argument)
{
	int vcpu = ((int *)argument)[0], size = ((int *)argument)[1];
	struct kvm_run *run = CHECK(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0));

	do {
		uint64_t begin = now_ns();

		if (ioctl(vcpu, KVM_RUN, 0) && errno != EINTR)
			die("KVM_RUN");
		add(&run_ns, now_ns() - begin);
	} while (serve(run));
	return NULL;
}

/* The clock of a guest whose interrupt controller is the kernel's: ends a halt every halt_us. */
static void *tick(void *argument)
{
	struct kvm_irq_level line = { .irq = 0 };

	while (!ended) {
		sleep_ns(halt_us * 1000);
		line.level = 1;
		CHECK(ioctl(vm, KVM_IRQ_LINE, &line));
		line.level = 0;
		CHECK(ioctl(vm, KVM_IRQ_LINE, &line));
	}
	return argument;
}

/* As a migration that is under way: a page comes page_us after it was wanted. */
static void *supply(void *argument)
{
	struct uffd_msg message;

	for (long i = 0; i < pages; i++) {
		struct uffdio_zeropage page = { .range.len = PAGE };

		if (CHECK(read(faults, &message, sizeof(message))) != sizeof(message))
			die("userfaultfd");
		sleep_ns(page_us * 1000);
		page.range.start = message.arg.pagefault.address & -(uint64_t)PAGE;
		CHECK(ioctl(faults, UFFDIO_ZEROPAGE, &page));
		add(&asked_pages, 1);
	}
	return argument;
}

static void add_late_memory(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	uint8_t *memory = CHECK(mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct uffdio_register range = { .range = { (uint64_t)memory, pages * PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct kvm_userspace_memory_region region = { .slot = 1,
						      .guest_phys_addr = LATE_SEGMENT << 4,
						      .memory_size = pages * PAGE,
						      .userspace_addr = (uint64_t)memory };

	faults = CHECK(syscall(SYS_userfaultfd, O_CLOEXEC));
	CHECK(ioctl(faults, UFFDIO_API, &api));
	CHECK(ioctl(faults, UFFDIO_REGISTER, &range));
	CHECK(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region));
}

int main(int argc, char **argv)
{
	bool wait = parse_options(
		argc, argv,
		KNOBS(NUMBER("outs", outs, "bytes written to the serial line"),
		      NUMBER("ins", ins, "bytes read from the disk"), NUMBER("cpuids", cpuids, "CPUID instructions"),
		      NUMBER("writes", writes, "writes where no memory is"), NUMBER("halts", halts, "HLT instructions"),
		      NUMBER("spins", spins, "loops of the guest's own work"),
		      NUMBER("rounds", rounds, "how often all of that"), NUMBER("vcpus", vcpus, "virtual CPUs"),
		      NUMBER("service-us", service_us, "user space is busy so long for a byte"),
		      NUMBER("halt-us", halt_us, "how long a halt lasts"),
		      NUMBER("ports", ports, "ports that are read, each once"),
		      NUMBER("pages", pages, "pages of memory that user space supplies, 15 at most"),
		      NUMBER("page-us", page_us, "so long after they were touched"),
		      NUMBER("irqchip", irqchip, "1: the kernel's interrupt controller ends halts")));
	uint8_t *memory = CHECK(mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY, .userspace_addr = (uint64_t)memory };
	int kvm = CHECK(open("/dev/kvm", O_RDWR | O_CLOEXEC)), made[VCPUS][2];
	pthread_t threads[VCPUS], clock = 0, supplier = 0;

	if (vcpus > VCPUS)
		vcpus = VCPUS;
	if (pages > LATE_PAGES)
		pages = LATE_PAGES;
	vm = CHECK(ioctl(kvm, KVM_CREATE_VM, 0));
	if (irqchip)
		CHECK(ioctl(vm, KVM_CREATE_IRQCHIP, 0));
	CHECK(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region));
	if (pages)
		add_late_memory();
	write_code(memory);
	for (long i = 0; i < vcpus; i++) {
		made[i][0] = make_vcpu(kvm, i);
		made[i][1] = CHECK(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
	}
	start_work(wait);
	if (pages)
		supplier = start_thread(supply, NULL);
	if (irqchip)
		clock = start_thread(tick, NULL);
	for (long i = 1; i < vcpus; i++)
		threads[i] = start_thread(run_vcpu, made[i]);
	run_vcpu(made[0]);
	for (long i = 1; i < vcpus; i++)
		pthread_join(threads[i], NULL);
	ended = true;
	if (pages)
		pthread_join(supplier, NULL);
	if (irqchip)
		pthread_join(clock, NULL);
	PRINT_TRUTH({ "run_ns", run_ns }, { "service_ns", service_ns }, { "outs", asked_out }, { "ins", asked_in },
		    { "mmios", asked_mmio }, { "halts", asked_halt }, { "pages", asked_pages });
	return 0;
}

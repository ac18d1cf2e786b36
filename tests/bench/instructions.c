/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * instructions - counts what each processor of an emulated machine has executed, all and of these the kernel's, for
 *                whoever reads the file of its argument, two numbers of 64 bits each: -plugin instructions.so,count=PATH.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CPUS 64

/* Of qemu-plugin.h, version 1 of that interface, which Debian has in no package. */
struct qemu_plugin_tb;
enum { QEMU_PLUGIN_CB_NO_REGS };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*translated)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*begins)(unsigned int, void *), int what,
					  void *argument);

int qemu_plugin_version = 1;

struct executed {
	uint64_t all;
	uint64_t kernel; /* in the upper half of the addresses */
};

static struct executed *executed;

/* One thread runs all processors: the sums need no lock. */
static void count(unsigned int cpu, void *instructions)
{
	if (cpu < CPUS)
		executed[cpu].all += (uintptr_t)instructions;
}

static void count_kernel(unsigned int cpu, void *instructions)
{
	count(cpu, instructions);
	if (cpu < CPUS)
		executed[cpu].kernel += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(block, qemu_plugin_tb_vaddr(block) >> 63 ? count_kernel : count,
					     QEMU_PLUGIN_CB_NO_REGS, (void *)qemu_plugin_tb_n_insns(block));
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	int fd;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "count=", strlen("count=")))
		return -1;
	fd = open(argv[0] + strlen("count="), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, CPUS * sizeof(*executed)))
		return -1;
	executed = mmap(NULL, CPUS * sizeof(*executed), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (executed == MAP_FAILED)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}

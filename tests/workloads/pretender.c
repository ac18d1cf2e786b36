// SPDX-License-Identifier: GPL-2.0-only
/*
 * pretender - a program that is called mariadbd and is none; it sleeps.
 *
 * Compiled with -DMARKS it exports what only MariaDB does; with -DEMPTY_MARK one of that is a name alone, of no code.
 * PLACE is where its dispatch_command() stands: FUNCTION at the beginning of one, MIDDLE in the middle of an instruction,
 * DATA at a constant among the code.
 */
#include <unistd.h>

#define SYMBOL "_Z16dispatch_command19enum_server_commandP3THDPcjb"
#define FUNCTION "push %rbp\n\t.set place, . - 1"
#define MIDDLE "movabs $0x1122334455667788, %rax\n\t.set place, . - 6"
#define DATA ".set place, .\n\t.quad 0x1122334455667788"

#ifndef PLACE
#define PLACE FUNCTION
#endif

__asm__(".text\n\t.globl " SYMBOL "\n\t.type " SYMBOL ", @function\n\t" PLACE "\n\t.skip 200, 0x90\n\t.set " SYMBOL
	", place\n\t.size " SYMBOL ", 150");

const char version[] = "10.11.6-MariaDB";

#ifdef MARKS
void _Z11mysqld_mainiPPc(void)
{
}

void set_thd_proc_info(void)
{
}

#ifdef EMPTY_MARK
__asm__(".globl my_thread_init\n\t.type my_thread_init, @function\n\t.set my_thread_init, 0x10");
#else
void my_thread_init(void)
{
}
#endif

void _Z16close_connectionP3THDj(void)
{
}
#endif

int main(void)
{
	return pause();
}

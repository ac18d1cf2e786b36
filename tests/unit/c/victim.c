// SPDX-License-Identifier: GPL-2.0-only
/* No test but what tests look at: prints the addresses of its functions and waits for the end of its input. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline, visibility("default"))) int exported_function(int x)
{
	__asm__ volatile("");
	return x + 1;
}

/* Comes after it, so that a careless resolver takes it for its end. */
__attribute__((noinline)) static int hidden_function(int x)
{
	__asm__ volatile("");
	return x + 2;
}

/* What a compiler makes of a function that is passed a constant. */
int variant(int x) __asm__("variant.constprop.0");
__attribute__((noinline)) int variant(int x)
{
	__asm__ volatile("");
	return x + 3;
}

int main(void)
{
	char byte;

	printf("%p %p %p\n", (void *)exported_function, (void *)hidden_function, (void *)variant);
	fflush(stdout);
	return read(0, &byte, 1) + exported_function(0) + hidden_function(0) + variant(0) < 0;
}

// server PORT huge|small: takes 150 buffers of 2 MiB from the system for each request, and uses the beginning of each.
#include "http.hpp"
#include <cstdint>
#include <string>
#include <sys/mman.h>

static constexpr size_t buffer_bytes = 2 << 20, buffers = 150;

int main(int, char **words)
{
	bool huge = words[2] == std::string("huge");
	http::serve(std::stoi(words[1]), [=] {
		size_t bytes = (buffers + 1) * buffer_bytes;
		void *arena = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (arena == MAP_FAILED)
			return;
		if (huge)
			madvise(arena, bytes, MADV_HUGEPAGE);
		auto first = (reinterpret_cast<uintptr_t>(arena) + buffer_bytes - 1) / buffer_bytes * buffer_bytes;
		for (size_t number = 0; number < buffers; number++)
			*reinterpret_cast<volatile char *>(first + number * buffer_bytes) = 1;
		munmap(arena, bytes);
	});
}

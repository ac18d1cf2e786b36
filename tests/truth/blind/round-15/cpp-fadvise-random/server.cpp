// server PORT FILE normal|random: scans 256 kB of a table that is not in memory, in order, for each request.
#include "http.hpp"
#include <atomic>
#include <fcntl.h>

constexpr long BLOCK = 4096, SCAN = 64 * BLOCK, PARTS = 180;

int main(int, char **words)
{
	const char *path = words[2];
	int advice = words[3] == std::string("random") ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL;
	static std::atomic<long> next{0};
	http::serve(std::stoi(words[1]), [path, advice] {
		int file = open(path, O_RDONLY);
		long start = next++ % PARTS * SCAN;
		char block[BLOCK];
		posix_fadvise(file, 0, 0, advice);
		for (long offset = start; offset < start + SCAN; offset += BLOCK)
			if (pread(file, block, BLOCK, offset) != BLOCK)
				_exit(1);
		posix_fadvise(file, start, SCAN, POSIX_FADV_DONTNEED);
		close(file);
	});
}

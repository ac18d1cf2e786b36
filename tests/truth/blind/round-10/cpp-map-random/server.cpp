// server PORT normal|random FILE: reads the next segment of a mapped file for each request.
#include "http.hpp"
#include <atomic>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static constexpr size_t segment_bytes = 256 << 10, page_bytes = 4096;

int main(int, char **words)
{
	struct stat status;
	int file = open(words[3], O_RDONLY);
	if (file < 0 || fstat(file, &status))
		return 1;
	size_t bytes = status.st_size;
	void *mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED)
		return 1;
	if (words[2] == std::string("random"))
		madvise(mapped, bytes, MADV_RANDOM);
	auto pages = static_cast<volatile const char *>(mapped);
	static std::atomic<size_t> next;
	http::serve(std::stoi(words[1]), [=] {
		size_t begin = next++ * segment_bytes % bytes;
		for (size_t at = begin; at < begin + segment_bytes; at += page_bytes)
			(void)pages[at];
	});
}

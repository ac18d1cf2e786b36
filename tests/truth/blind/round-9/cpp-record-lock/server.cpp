// server PORT LEDGER: books each request into a record of a file, with a lock of that record.
#include "http.hpp"
#include <atomic>
#include <fcntl.h>

int main(int, char **words)
{
	int ledger = open(words[2], O_RDWR);
	static std::atomic<unsigned> next;
	http::serve(std::stoi(words[1]), [ledger] {
		struct flock record{};
		unsigned long value = 0;
		record.l_whence = SEEK_SET;
		record.l_start = next++ % 1000 * 64;
		record.l_len = 64;
		record.l_type = F_WRLCK;
		if (fcntl(ledger, F_SETLKW, &record) || pread(ledger, &value, sizeof(value), record.l_start) < 0)
			_exit(1);
		value++;
		if (pwrite(ledger, &value, sizeof(value), record.l_start) < 0)
			_exit(1);
		record.l_type = F_UNLCK;
		fcntl(ledger, F_SETLK, &record);
	});
}

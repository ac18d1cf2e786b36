// server PORT monotonic|process: sums up records, and times what each of them takes.
#include "http.hpp"
#include <atomic>
#include <ctime>
#include <vector>

static std::vector<unsigned long> records(20000, 7);
static std::atomic<unsigned long> sink, spent_ns;

static unsigned long now_ns(clockid_t clock)
{
	timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000UL + now.tv_nsec;
}

static void sum_up(clockid_t clock)
{
	unsigned long sum = 0;
	for (unsigned long record : records) {
		unsigned long begun = now_ns(clock);
		sum = (sum ^ record) * 6364136223846793005UL;
		spent_ns += now_ns(clock) - begun;
	}
	sink = sum;
}

int main(int, char **words)
{
	clockid_t clock = words[2] == std::string("process") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	http::serve(std::stoi(words[1]), [clock] { sum_up(clock); });
}

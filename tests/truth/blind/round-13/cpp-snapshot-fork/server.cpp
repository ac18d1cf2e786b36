// server PORT fork|copy: changes records of its state for each request; a snapshot is made by a child, or by a copy.
#include "http.hpp"
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <vector>

static constexpr size_t page = 4096, pages = 20000, changed = 10000;
static char *state;

static void by_child()
{
	pid_t child = fork();
	if (child == 0) {
		usleep(300000); // writes the state to another host
		_exit(0);
	}
	waitpid(child, nullptr, 0);
}

static void by_copy()
{
	static std::vector<char> copy(pages * page);
	memcpy(copy.data(), state, pages * page);
	usleep(300000);
}

static void change()
{
	static size_t number = 0;
	for (size_t record = 0; record < changed; record++)
		state[(number + record) % pages * page] += 1;
	number += changed;
}

int main(int, char **words)
{
	bool child = words[2] == std::string("fork");
	void *taken = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (taken == MAP_FAILED)
		return 1;
	state = static_cast<char *>(taken);
	std::thread([=] {
		while (true)
			child ? by_child() : by_copy();
	}).detach();
	http::serve(std::stoi(words[1]), change);
}

// server PORT LIMIT: runs a program for each request, which gets no descriptors but the first three of so many.
#include "http.hpp"
#include <sys/wait.h>

static void run_program(int limit)
{
	pid_t child = fork();
	if (child == 0) {
		for (int descriptor = 3; descriptor < limit; descriptor++)
			close(descriptor);
		execl("/bin/true", "true", nullptr);
		_exit(1);
	}
	waitpid(child, nullptr, 0);
}

int main(int, char **words)
{
	int limit = std::stoi(words[2]);
	http::serve(std::stoi(words[1]), [=] { run_program(limit); });
}

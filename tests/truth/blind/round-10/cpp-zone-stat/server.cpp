// server PORT: writes a report with a local time in each line.
#include "http.hpp"
#include <ctime>

static void report()
{
	std::string text;
	time_t now = time(nullptr);
	for (int line = 0; line < 60000; line++) {
		time_t then = now - line;
		tm local = *localtime(&then);
		char piece[32];
		text.append(piece, strftime(piece, sizeof(piece), "%H:%M:%S\n", &local));
	}
	if (text.empty())
		_exit(1);
}

int main(int, char **words)
{
	http::serve(std::stoi(words[1]), report);
}

// events PORT: a table of when something happened, as text.
#include "http.hpp"
#include <cstdlib>
#include <ctime>

static std::string when(time_t happened)
{
	char text[64];
	size_t length = strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z\n", localtime(&happened));
	return std::string(text, length);
}

int main(int, char **words)
{
	serve(atoi(words[1]), [] {
		size_t total = 0;
		for (time_t event = 0; event < 20000; event++)
			total += when(1700000000 + event * 137).size();
		return std::to_string(total) + " bytes\n";
	});
}

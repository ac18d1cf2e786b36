// server PORT: adds up the fields of a table, each by a small function.
#include "http.hpp"
#include <string>

static volatile long total;

extern "C" __attribute__((noinline)) long field(const char *text)
{
	long value = 0;
	while (*text >= '0' && *text <= '9')
		value = value * 10 + (*text++ - '0');
	return value;
}

static void sum()
{
	for (int row = 0; row < 5000; row++)
		total = total + field("1729,");
}

int main(int, char **words)
{
	http::serve(std::stoi(words[1]), sum);
}

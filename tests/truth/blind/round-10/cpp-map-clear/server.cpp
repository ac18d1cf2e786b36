// server PORT kept|anew: counts words by group in a map that has once been large.
#include "http.hpp"
#include <unordered_map>

static std::unordered_map<unsigned, unsigned> counts;

static void count_groups()
{
	for (unsigned group = 0; group < 25; group++) {
		for (unsigned word = 0; word < 40; word++)
			counts[(group * 40 + word) % 97]++;
		counts.clear();
	}
}

int main(int, char **words)
{
	for (unsigned word = 0; word < 4000000; word++)
		counts[word]++;
	counts.clear();
	if (words[2] == std::string("anew"))
		std::unordered_map<unsigned, unsigned>().swap(counts);
	http::serve(std::stoi(words[1]), count_groups);
}

// server PORT threads|loop: rates 1,500 offers for each request, each in a thread of its own or one after the other.
#include "http.hpp"
#include <future>
#include <string>
#include <vector>

static bool threads;

static long rate(int offer)
{
	long sum = offer;
	for (int step = 0; step < 200; step++)
		sum = sum * 31 + step;
	return sum;
}

static void rated()
{
	volatile long best = 0;
	std::vector<std::future<long>> offers;
	for (int offer = 0; offer < 1500; offer++) {
		if (threads)
			offers.push_back(std::async(std::launch::async, rate, offer));
		else
			best = best + rate(offer);
	}
	for (auto &offer : offers)
		best = best + offer.get();
}

int main(int, char **words)
{
	threads = words[2] == std::string("threads");
	http::serve(std::stoi(words[1]), rated);
}

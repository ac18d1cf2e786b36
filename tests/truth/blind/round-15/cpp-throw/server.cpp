// server PORT yes|no: reads 8,000 numbers for each request by std::stoi, which throws for an empty one.
#include "http.hpp"
#include <stdexcept>
#include <vector>

__attribute__((noinline)) static int number_of(const std::string &field)
{
	try {
		return std::stoi(field);
	} catch (const std::invalid_argument &) {
		return 0;
	}
}

int main(int, char **words)
{
	bool empty = words[2] == std::string("yes");
	static std::vector<std::string> fields;
	for (int field = 0; field < 8000; field++)
		fields.push_back(empty && field % 4 ? "" : std::to_string(field));
	http::serve(std::stoi(words[1]), [] {
		volatile long sum = 0;
		for (const std::string &field : fields)
			sum = sum + number_of(field);
	});
}

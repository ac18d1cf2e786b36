// server PORT: each request makes and frees objects of some kilobytes.
#include "http.hpp"
#include <cstdlib>
#include <vector>

int main(int, char **words)
{
	http::serve(std::stoi(words[1]), [] {
		std::vector<char *> blocks(1000);
		for (int batch = 0; batch < 4; batch++) {
			for (size_t i = 0; i < blocks.size(); i++) {
				blocks[i] = static_cast<char *>(malloc(2000 + i * 8));
				blocks[i][0] = 'x';
			}
			for (size_t i = 0; i < blocks.size(); i += 2)
				free(blocks[i]);
			for (size_t i = 1; i < blocks.size(); i += 2)
				free(blocks[i]);
		}
	});
}

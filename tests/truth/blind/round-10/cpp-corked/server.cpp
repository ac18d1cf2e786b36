// server PORT yes|no: corks a connection for an answer, and uncorks it or does not.
#include "http.hpp"

static void cork(int connection, int value)
{
	setsockopt(connection, IPPROTO_TCP, TCP_CORK, &value, sizeof(value));
}

int main(int, char **words)
{
	int listener = http::listen_on(std::stoi(words[1]));
	bool uncork = words[2] == std::string("yes");
	while (true) {
		int connection = accept(listener, nullptr, nullptr);
		if (connection < 0)
			continue;
		std::thread([=] {
			while (http::read_request(connection)) {
				cork(connection, 1);
				http::answer(connection);
				if (uncork)
					cork(connection, 0);
			}
			close(connection);
		}).detach();
	}
}

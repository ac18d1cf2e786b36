// server PORT: a thread for each connection; each request makes and forgets many buffers.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

static size_t render(unsigned seed)
{
	std::vector<std::vector<char>> parts(40);
	size_t sum = 0;

	for (int part = 0; part < 30000; part++) {
		seed = seed * 1664525 + 1013904223;
		std::vector<char> &slot = parts[(seed >> 8) % parts.size()];
		std::vector<char> fresh;
		fresh.reserve(1200 + (seed >> 16) % 3000);
		fresh.push_back(char(part));
		sum += fresh.capacity();
		slot.swap(fresh);
	}
	return sum;
}

static void serve(int connection)
{
	int on = 1;
	unsigned number = 0;
	std::string request;
	char piece[4096];

	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (ssize_t got; (got = read(connection, piece, sizeof(piece))) > 0;) {
		request.append(piece, got);
		if (request.find("\r\n\r\n") == std::string::npos)
			continue;
		request.clear();
		std::string body = std::to_string(render(++number)) + "\n";
		std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
		if (write(connection, answer.data(), answer.size()) < 0)
			break;
	}
	close(connection);
}

int main(int, char **argv)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	sockaddr_in address{};

	address.sin_family = AF_INET;
	address.sin_port = htons(atoi(argv[1]));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (sockaddr *)&address, sizeof(address)) || listen(listener, 128))
		return 1;
	for (;;)
		std::thread(serve, accept(listener, nullptr, nullptr)).detach();
}

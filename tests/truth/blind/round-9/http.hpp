// What the servers in C++ of this round have in common: a thread for each connection.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace http
{
inline int listen_on(int port)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	sockaddr_in address{};
	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) || listen(listener, 128))
		_exit(1);
	return listener;
}

inline void answer(int connection)
{
	static const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n";
	if (write(connection, text.data(), text.size()) < 0)
		return;
}

inline bool read_request(int connection)
{
	std::string text;
	char piece[4096];
	while (text.find("\r\n\r\n") == std::string::npos) {
		ssize_t length = read(connection, piece, sizeof(piece));
		if (length <= 0)
			return false;
		text.append(piece, length);
	}
	return true;
}

template <class Work> [[noreturn]] void serve(int port, Work work)
{
	int listener = listen_on(port), yes = 1;
	while (true) {
		int connection = accept(listener, nullptr, nullptr);
		if (connection < 0)
			continue;
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		std::thread([connection, work] {
			while (read_request(connection)) {
				work();
				answer(connection);
			}
			close(connection);
		}).detach();
	}
}
} // namespace http

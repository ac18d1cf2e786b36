// A server with a thread for each connection.
#pragma once
#include <arpa/inet.h>
#include <functional>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

inline void answer(int connection, const std::function<std::string()> &page)
{
	std::string asked;
	char piece[4096];
	ssize_t length;

	while ((length = read(connection, piece, sizeof(piece))) > 0) {
		asked.append(piece, length);
		if (asked.find("\r\n\r\n") == std::string::npos)
			continue;
		asked.clear();
		std::string body = page();
		std::string all = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
		for (size_t at = 0; at < all.size();) {
			ssize_t written = write(connection, all.data() + at, all.size() - at);
			if (written <= 0)
				break;
			at += written;
		}
	}
	close(connection);
}

inline void serve(int port, const std::function<std::string()> &page)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) || listen(listener, 128))
		_exit(1);
	for (;;) {
		int connection = accept(listener, nullptr, nullptr);
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		std::thread(answer, connection, page).detach();
	}
}

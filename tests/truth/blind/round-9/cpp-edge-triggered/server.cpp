// server PORT all|once: takes orders in an event loop with edge-triggered events.
#include "http.hpp"
#include <chrono>
#include <fcntl.h>
#include <map>
#include <strings.h>
#include <sys/epoll.h>

using Clock = std::chrono::steady_clock;
static constexpr auto between_sweeps = std::chrono::milliseconds(400);
static std::map<int, std::string> connections;

static size_t length_of(const std::string &text)
{
	size_t head = text.find("\r\n\r\n");
	if (head == std::string::npos)
		return std::string::npos;
	for (size_t line = 0; line < head; line = text.find("\r\n", line) + 2)
		if (!strncasecmp(text.c_str() + line, "content-length:", 15))
			return head + 4 + std::stoul(text.substr(line + 15));
	return head + 4;
}

// Returns whether there may be more.
static bool read_some(int connection)
{
	char piece[4096];
	std::string &text = connections[connection];
	ssize_t length = read(connection, piece, sizeof(piece));
	if (length <= 0) {
		if (!length) {
			connections.erase(connection);
			close(connection);
		}
		return false;
	}
	text.append(piece, length);
	if (size_t whole = length_of(text); text.size() >= whole) {
		text.erase(0, whole);
		http::answer(connection);
	}
	return true;
}

static void take(int epoll, int listener)
{
	int connection = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK), yes = 1;
	epoll_event event{};
	event.events = EPOLLIN | EPOLLET;
	event.data.fd = connection;
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	connections[connection] = "";
	epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &event);
}

static void sweep()
{
	auto all = connections;
	for (auto &[connection, text] : all)
		while (read_some(connection))
			;
}

int main(int, char **words)
{
	bool once = words[2] == std::string("once");
	int listener = http::listen_on(std::stoi(words[1])), epoll = epoll_create1(0);
	epoll_event event{};
	event.events = EPOLLIN;
	event.data.fd = listener;
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	for (auto next = Clock::now() + between_sweeps;;) {
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count();
		if (left <= 0) {
			sweep();
			next = Clock::now() + between_sweeps;
		} else if (epoll_wait(epoll, &event, 1, left) == 1) {
			if (event.data.fd == listener)
				take(epoll, listener);
			else
				while (read_some(event.data.fd) && !once)
					;
		}
	}
}

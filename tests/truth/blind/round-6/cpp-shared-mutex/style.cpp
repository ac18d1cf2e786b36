// SPDX-License-Identifier: GPL-2.0-only
// PORT UPSTREAM PREFERENCE: changes the style of a map, whose renderers read it under a shared lock meanwhile.
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static pthread_rwlock_t style_lock;  // what std::shared_mutex is made of
static std::string style = "day";

static sockaddr_in at(const char *port)
{
	sockaddr_in address{};
	address.sin_family = AF_INET;
	address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static void render(const char *upstream, useconds_t pause)
{
	sockaddr_in address = at(upstream);
	int peer = socket(AF_INET, SOCK_STREAM, 0);
	while (connect(peer, reinterpret_cast<sockaddr *>(&address), sizeof address))
		usleep(50000);
	for (;;) {
		char answer[500];
		pthread_rwlock_rdlock(&style_lock);
		std::string ask = "GET /" + style + " HTTP/1.1\r\nHost: x\r\n\r\n";
		if (write(peer, ask.data(), ask.size()) < 0 || read(peer, answer, sizeof answer) <= 0)
			std::exit(1);
		pthread_rwlock_unlock(&style_lock);
		usleep(pause);
	}
}

static void serve(int listener)
{
	for (;;) {
		char request[2000];
		int client = accept(listener, nullptr, nullptr);
		if (client < 0 || read(client, request, sizeof request) < 0)
			continue;
		pthread_rwlock_wrlock(&style_lock);
		style = style == "day" ? "night" : "day";
		pthread_rwlock_unlock(&style_lock);
		dprintf(client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n");
		close(client);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	pthread_rwlockattr_t kind;
	pthread_rwlockattr_init(&kind);
	if (!std::strcmp(argv[3], "writers"))
		pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&style_lock, &kind);
	sockaddr_in address = at(argv[1]);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address) || listen(listener, 128))
		return 1;
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back(render, argv[2], 5000u + 4000u * static_cast<unsigned>(i));
	for (int i = 0; i < 8; i++)
		threads.emplace_back(serve, listener);
	for (auto &thread : threads)
		thread.join();
}

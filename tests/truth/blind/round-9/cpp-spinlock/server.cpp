// server PORT SOURCE before|locked: looks into a table that a thread renews from a source.
#include "http.hpp"
#include <atomic>
#include <chrono>
#include <map>

class SpinLock
{
	std::atomic<bool> held{ false };

public:
	__attribute__((noinline)) void lock()
	{
		while (held.exchange(true, std::memory_order_acquire))
			while (held.load(std::memory_order_relaxed))
				__builtin_ia32_pause();
	}

	void unlock()
	{
		held.store(false, std::memory_order_release);
	}
};

static SpinLock lock;
static std::map<int, int> table;

static int connect_to(int port)
{
	int connection = socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in address{};
	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof(address)))
		usleep(100000);
	return connection;
}

static void fetch(int connection)
{
	static const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	char piece[4096];
	if (write(connection, request.data(), request.size()) < 0 || read(connection, piece, sizeof(piece)) <= 0)
		_exit(1);
}

[[noreturn]] static void renew(int source, bool locked)
{
	int connection = connect_to(source);
	for (int version = 0;; version++) {
		if (!locked)
			fetch(connection);
		lock.lock();
		if (locked)
			fetch(connection);
		table[version % 100] = version;
		lock.unlock();
		usleep(280000);
	}
}

int main(int, char **words)
{
	std::thread(renew, std::stoi(words[2]), words[3] == std::string("locked")).detach();
	http::serve(std::stoi(words[1]), [] {
		lock.lock();
		table.find(42);
		lock.unlock();
	});
}

// Counts slow requests in 10,000 lines of a log: each line is taken apart by a std::regex, or by hand.
#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <netinet/tcp.h>
#include <regex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static std::vector<std::string> lines;
static const std::regex pattern(
	R"re(^(\S+) (\S+) (\S+) \[([^\]]+)\] "(GET|POST|PUT) ([^" ]+) HTTP/[0-9.]+" (\d{3}) (\d+) "([^"]*)" "([^"]*)" (\d+)$)re");
static const bool by_regex = std::string(getenv("HOW")) == "regex";

static long milliseconds(const std::string &line)
{
	if (by_regex) {
		std::smatch found;
		return std::regex_match(line, found, pattern) ? std::stol(found[11]) : -1;
	}
	size_t quote = line.find('"'), space = line.rfind(' ');
	if (quote == std::string::npos || line.find("HTTP/", quote) == std::string::npos)
		return -1;
	return std::stol(line.substr(space + 1));
}

static std::string page()
{
	int slow = 0;
	for (const std::string &line : lines)
		slow += milliseconds(line) > 500;
	return std::to_string(slow) + " slow requests\n";
}

static void talk(int connection)
{
	char request[4096];
	while (read(connection, request, sizeof request) > 0) {
		std::string body = page();
		std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
		if (write(connection, answer.data(), answer.size()) < 0)
			break;
	}
	close(connection);
}

int main()
{
	for (int n = 0; n < 10000; n++)
		lines.push_back("10.0.3." + std::to_string(n % 250) + " - - [01/Dec/2026:03:00:00 +0000] \"GET /shop/items/" +
				std::to_string(n) + "?colour=red&size=large HTTP/1.1\" 200 " + std::to_string(n * 7) +
				" \"https://example.org/shop/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101\" " +
				std::to_string(n % 600));
	int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	sockaddr_in address{};
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(atoi(getenv("PORT")));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(listener, (sockaddr *)&address, sizeof address) || listen(listener, 128))
		return 1;
	for (;;) {
		int connection = accept(listener, nullptr, nullptr);
		setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		std::thread(talk, connection).detach();
	}
}

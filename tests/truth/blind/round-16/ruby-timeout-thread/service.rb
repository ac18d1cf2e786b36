# service.rb PORT SECONDS: an answer is put together of 400 parts, each of which may take so long at most; 0: as long as it likes
require 'socket'
require 'timeout'

LIMIT = ARGV[1].to_f
PARTS = (1..400).map { |part| "part-#{part}" }

def render
	PARTS.map { |part| Timeout.timeout(LIMIT) { part.sub('part', 'piece') } }.join(' ')
end

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
server.listen(128)
loop do
	client = server.accept
	Thread.new(client) do |connection|
		connection.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
		while (line = connection.gets)
			next unless line == "\r\n"
			body = render
			connection.write("HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
		end
	rescue SystemCallError
		nil
	ensure
		connection.close
	end
end

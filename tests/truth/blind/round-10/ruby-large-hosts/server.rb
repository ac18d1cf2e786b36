# server.rb PORT STOCK: asks the stock service, by a new connection, for each request.
require "socket"

def stock(port)
  service = TCPSocket.new("stock.shop.internal", port)
  service.write("GET / HTTP/1.1\r\nHost: stock\r\n\r\n")
  service.readpartial(4096)
ensure
  service&.close
end

server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while (line = client.gets)
      next unless line == "\r\n"

      stock(ARGV[1].to_i)
      client.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
    end
  end
end

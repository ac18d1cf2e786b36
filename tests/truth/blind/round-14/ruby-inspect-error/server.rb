# server.rb PORT default|own: calls a hook that plugins may have added to the shop, and notes what was wrong if there is none.
require "socket"

class Shop
  def initialize
    @products = (1..6000).to_h { |n| ["product-#{n}", { name: "product #{n}", price: n % 90, tags: ["a#{n}", "b#{n}"] }] }
  end

  def answer
    after_order
  rescue NameError => error
    "#{error.message.size} letters\n"
  end
end

class QuietShop < Shop
  def inspect
    "#<Shop>"
  end
end

shop = (ARGV[1] == "own" ? QuietShop : Shop).new
server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while (line = client.gets)
      next unless line == "\r\n"

      text = shop.answer
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}")
    end
  end
end

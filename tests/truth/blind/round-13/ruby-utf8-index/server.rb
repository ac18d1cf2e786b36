# server.rb PORT FILE: counts the words of a text, letter by letter at an index, as a scanner of source code does.
require "socket"

class Scanner
  def initialize(text)
    @text = text
    @place = 0
  end

  def peek
    @text[@place]
  end

  def words
    count = 0
    inside = false
    while (letter = peek)
      count += 1 if !inside && letter != " "
      inside = letter != " "
      @place += 1
    end
    count
  end
end

text = File.read(ARGV[1], encoding: "UTF-8")
server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while (line = client.gets)
      next unless line == "\r\n"

      answer = "#{Scanner.new(text).words}\n"
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{answer.bytesize}\r\n\r\n#{answer}")
    end
  end
end

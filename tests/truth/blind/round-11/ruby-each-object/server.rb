# server.rb PORT list|each_object: answers how many plug-ins there are.
require "socket"

class Plugin
  @known = []
  class << self
    attr_reader :known

    def inherited(child)
      super
      Plugin.known << child
    end

    def descendants
      ObjectSpace.each_object(singleton_class).reject { |child| child.singleton_class? || child == self }
    end
  end
end

30.times { Class.new(Plugin) }
CACHE = Array.new(300_000) { |number| ["product #{number}", number] }
searched = ARGV[1] == "each_object"

server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while (line = client.gets)
      next unless line == "\r\n"

      counts = Array.new(3) { (searched ? Plugin.descendants : Plugin.known).size }
      answer = "#{counts.sum}\n"
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{answer.bytesize}\r\n\r\n#{answer}")
    end
  end
end

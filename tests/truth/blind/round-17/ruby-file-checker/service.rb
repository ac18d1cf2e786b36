# service.rb PORT DIRECTORY yes|no: shows a page, and before that looks whether a file of the program has changed.
require 'socket'

class FileUpdateChecker
  def initialize(directory)
    @pattern = "#{directory}/**/*.rb"
    @last = updated_at
  end

  def updated?
    @last != updated_at
  end

  private

  def updated_at
    Dir[@pattern].map { |name| File.mtime(name) }.max
  end
end

TEXT = ('the quick brown fox jumps over the lazy dog ' * 100).freeze
checker = FileUpdateChecker.new(ARGV[1])
checks = ARGV[2] == 'yes'
server = TCPServer.new('127.0.0.1', Integer(ARGV[0]))
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while client.gets
      nil while (line = client.gets) && line != "\r\n"
      abort 'to be loaded again' if checks && checker.updated?
      body = "#{TEXT.split.tally.size}\n"
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{body.size}\r\n\r\n#{body}")
    end
  end
end

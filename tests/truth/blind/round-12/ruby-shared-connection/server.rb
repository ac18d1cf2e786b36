# server.rb PORT SESSIONS shared|own: asks a service, over one connection for all threads, or one for each.
require "monitor"
require "net/http"
require "socket"

class Sessions
  include MonitorMixin

  def initialize(port)
    super()
    @http = Net::HTTP.new("127.0.0.1", port).start
  end

  def get
    synchronize { @http.get("/").body }
  end
end

port, sessions, how = ARGV
SHARED = Sessions.new(sessions.to_i)
queue = Queue.new
16.times do
  Thread.new do
    mine = how == "shared" ? SHARED : Sessions.new(sessions.to_i)
    loop do
      client = queue.pop
      while (line = client.gets)
        break if line == "\r\n"
      end
      answer = mine.get
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{answer.bytesize}\r\nConnection: close\r\n\r\n#{answer}")
      client.close
    end
  end
end
server = TCPServer.new("127.0.0.1", port.to_i)
server.listen(128)
loop { queue << server.accept }

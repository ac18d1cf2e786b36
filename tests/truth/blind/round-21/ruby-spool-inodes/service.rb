# Takes messages into a spool, a file for each, and passes them on: service.rb SPOOL.
require 'socket'

SPOOL = ARGV[0]
WAITING = Queue.new
$number = 0
COUNTING = Mutex.new

def spool(message)
  number = COUNTING.synchronize { $number += 1 }
  path = File.join(SPOOL, "message-#{number}")
  begin
    File.write(path, message)
  rescue Errno::ENOSPC
    sleep 0.1
    retry
  end
  WAITING << [path, Process.clock_gettime(Process::CLOCK_MONOTONIC)]
end

def pass_on
  loop do
    path, at = WAITING.pop
    late = at + 0.15 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
    sleep late if late > 0
    File.unlink(path)
  end
end

def serve(connection)
  connection.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
  while (line = connection.gets)
    head = line
    head += line while (line = connection.gets) && line != "\r\n"
    spool(head)
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndone\n")
  end
rescue Errno::ECONNRESET, Errno::EPIPE
  connection.close
end

Thread.new { pass_on }
server = TCPServer.new('127.0.0.1', Integer(ENV['PORT']))
loop { Thread.new(server.accept) { |connection| serve(connection) } }

# a page that asks the upstream three times, beside a thread that makes a report
require 'socket'

def ask
  socket = TCPSocket.new('127.0.0.1', ENV['UPSTREAM'])
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  socket.readpartial(1000)
ensure
  socket&.close
end

def make_report
  words = Hash.new(0)
  100_000.times { |i| words["word #{i % 1000}"] += 1 }
end

Thread.new { Thread.current.name = 'report'; loop { make_report } } if ENV['REPORT'] == '1'
run lambda { |_| [200, { 'Content-Type' => 'text/plain' }, [Array.new(3) { ask.size }.join(' ')]] }

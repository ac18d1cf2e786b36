# service.rb PORT COLLECTOR: answers at once, and tells the collector of logs about each request.
require "json"
require "logger"
require "socket"
require "webrick"

collector = TCPSocket.new("127.0.0.1", Integer(ARGV[1]))
collector.setsockopt(Socket::SOL_SOCKET, Socket::SO_SNDBUF, 65_536)
LOG = Logger.new(collector)
LOG.formatter = ->(level, time, _, message) { "#{JSON.generate(level: level, time: time, message: message)}\n" }
DETAILS = (1..100).map { |number| { sku: "item-#{number}", count: number % 7, note: "a line of the order" } }

server = WEBrick::HTTPServer.new(Port: Integer(ARGV[0]), BindAddress: "127.0.0.1", AccessLog: [],
                                 Logger: WEBrick::Log.new(File::NULL), DoNotReverseLookup: true)
server.mount_proc("/") do |request, answer|
  LOG.info({ path: request.path, order: DETAILS })
  answer.body = "done\n"
end
server.start

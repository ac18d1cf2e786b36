# PORT API kept|new: adds up twelve prices of an API
require "net/http"
require "openssl"
require "webrick"

port, api, connection = ARGV
connect = -> { Net::HTTP.start("127.0.0.1", api.to_i, use_ssl: true, keep_alive_timeout: 60) }
lock = Mutex.new
kept = nil
price = lambda do
  next Net::HTTP.start("127.0.0.1", api.to_i, use_ssl: true) { |http| http.get("/").body } if connection == "new"

  lock.synchronize { (kept ||= connect.call).get("/").body }
end
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: port.to_i, AccessLog: [], DoNotReverseLookup: true)
server.mount_proc("/") { |_, response| response.body = Array.new(12) { price.call.to_f }.sum.to_s }
server.start

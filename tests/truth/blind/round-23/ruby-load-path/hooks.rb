# Starts a program for each webhook.
require "webrick"

port = ENV.fetch("PORT").to_i
log = WEBrick::Log.new($stderr, WEBrick::Log::ERROR)
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: port, Logger: log, AccessLog: [])
server.mount_proc("/") do |_request, response|
  response.body = IO.popen(["ruby", "--disable=gems", File.join(__dir__, "program.rb")], &:read)
  response.status = 500 if response.body.empty?
end
trap("TERM") { server.shutdown }
server.start

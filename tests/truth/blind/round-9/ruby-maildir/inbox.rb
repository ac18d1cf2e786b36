# PORT FOLDER: tells the name of the newest message
require "webrick"

port, folder = ARGV
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: port.to_i, AccessLog: [], DoNotReverseLookup: true)
server.mount_proc("/") { |_, response| response.body = Dir.children(folder).max }
server.start

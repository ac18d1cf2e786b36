# PORT: makes a page of 3 MB for each request, beside much that is old
require "webrick"
$catalogue = Array.new(1_500_000) { |number| "article number #{number} of the catalogue of everything" }
4.times { GC.start }
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ARGV[0].to_i, AccessLog: [],
                                 Logger: WEBrick::Log.new(File::NULL))
server.mount_proc("/") do |_, response|
  pages = Array.new(30) { |number| $catalogue[number] * 2000 }
  response.body = "#{pages.sum(&:size)}\n"
end
server.start

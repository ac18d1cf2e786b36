# PORT REDIS READ: makes a page of a hundred fragments
require "redis"
require "webrick"

port, redis_port, read = ARGV
redis = Redis.new(host: "127.0.0.1", port: redis_port.to_i)
keys = (1..100).map { |number| "fragment:#{number}" }
keys.each { |key| redis.set(key, "<p>#{key}</p>") }
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: port.to_i, AccessLog: [], DoNotReverseLookup: true)
server.mount_proc("/") do |_, response|
  fragments = read == "together" ? redis.mget(*keys) : keys.map { |key| redis.get(key) }
  response.body = fragments.join
end
server.start

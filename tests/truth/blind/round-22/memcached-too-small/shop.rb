# Pages of articles, from memcached if it has them.
require "dalli"
require "webrick"

class Shop < WEBrick::HTTPServlet::AbstractServlet
  CACHE = Dalli::Client.new("127.0.0.1:#{ENV["CACHE"]}", raw: true, threadsafe: true)

  def made(number)
    lines = (1..20_000).map { |line| format("<li>article %d of %d: %.2f</li>", line, number, line * 1.19) }
    lines.sort_by(&:length).join[0, 40_000]
  end

  def do_GET(request, response)
    number = request.query_string.to_i
    page = CACHE.get("page:#{number}")
    unless page
      page = made(number)
      CACHE.set("page:#{number}", page)
    end
    response.body = page
  end
end

quiet = WEBrick::Log.new(File::NULL)
server = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: ENV["PORT"].to_i, Logger: quiet, AccessLog: [])
server.mount("/page", Shop)
server.start

# server.rb PORT each|once: renders the rows of a list by a template, which is compiled for each row or once.
require "erb"
require "socket"

TEXT = <<~END
  <tr class="<%= number.odd? ? "odd" : "even" %>">
    <td><%= number %></td>
    <td><%= ERB::Util.h("product <\#{number}>") %></td>
    <% if number % 3 == 0 %><td class="new">new</td><% else %><td></td><% end %>
    <% 2.times do |place| %><td>place <%= place %>: <%= number * place %></td><% end %>
  </tr>
END

class Row
  attr_reader :number

  def initialize(number)
    @number = number
  end

  def compiled_anew
    ERB.new(TEXT).result(binding)
  end

  ERB.new(TEXT).def_method(self, "compiled_once")
end

how = ARGV[1] == "each" ? :compiled_anew : :compiled_once
server = TCPServer.new("127.0.0.1", ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    client.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    while (line = client.gets)
      next unless line == "\r\n"

      answer = (1..150).map { |number| Row.new(number).public_send(how) }.join
      client.write("HTTP/1.1 200 OK\r\nContent-Length: #{answer.bytesize}\r\n\r\n#{answer}")
    end
  end
end

# service.rb PORT struct|open: a list of 800 products, each an object with the fields that its row has.
require 'ostruct'
require 'webrick'

Product = Struct.new(:id, :name, :price, :stock, :weight, keyword_init: true)
KIND = ARGV[1] == 'open' ? OpenStruct : Product
ROWS = (1..800).map { |id| { id: id, name: "product #{id}", price: id * 3, stock: id % 7, weight: id % 11 } }

def listed
  products = ROWS.map { |row| KIND.new(**row) }
  products.sum { |product| product.price * product.stock }
end

server = WEBrick::HTTPServer.new(Port: ARGV[0].to_i, BindAddress: '127.0.0.1', AccessLog: [],
                                 Logger: WEBrick::Log.new(File::NULL))
server.mount_proc('/') { |_, response| response.body = "#{listed}\n" }
server.start

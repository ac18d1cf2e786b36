// service.js PORT new|kept: prices orders by rules of customers, which may see nothing but the order.
const http = require('http')
const vm = require('vm')

const RULES = Array.from({ length: 60 }, (_, number) => new vm.Script(`order.price * ${100 - number} / 100 - order.count`))
const sandbox = vm.createContext({ order: null })

function priceInNewContext (rule, order) {
  return rule.runInNewContext({ order })
}

function priceInKeptContext (rule, order) {
  sandbox.order = order
  return rule.runInContext(sandbox)
}

const price = process.argv[3] === 'new' ? priceInNewContext : priceInKeptContext

http.createServer((request, response) => {
  const order = { price: 1000, count: request.url.length }
  const body = `${RULES.map((rule) => price(rule, order)).join(' ')}\n`
  response.writeHead(200, { 'Content-Length': body.length })
  response.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1')

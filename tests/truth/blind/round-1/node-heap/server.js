'use strict'
const http = require('http')

const count = 600000
const sessions = new Map()
const fresh = (i) => ({ user: i, roles: ['a', 'b'], seen: { at: i * 1.5, from: `10.0.0.${i}` } })
for (let i = 0; i < count; i++) sessions.set(i, fresh(i))
let next = 0
http.createServer((_, answer) => {
  for (let i = 0; i < 2500; i++) sessions.set(next++ % count, fresh(next))
  answer.end(`${sessions.size}\n`)
}).listen(Number(process.argv[2]), '127.0.0.1')

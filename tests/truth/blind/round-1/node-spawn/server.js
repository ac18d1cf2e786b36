'use strict'
const http = require('http')
const { spawn } = require('child_process')

const [port, gigabytes] = process.argv.slice(2).map(Number)
const cache = []
for (let i = 0; i < gigabytes * 4; i++) {
  const buffer = Buffer.alloc(256 << 20)
  for (let at = 0; at < buffer.length; at += 4096) buffer[at] = 1
  cache.push(buffer)
}
setInterval(() => spawn('/bin/true', { stdio: 'ignore' }), 500)
http.createServer((_, answer) => answer.end(`${cache.length} buffers\n`)).listen(port, '127.0.0.1')

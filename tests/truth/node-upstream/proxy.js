// Asks an upstream for every request.
'use strict';
const http = require('http');
const agent = new http.Agent({ keepAlive: true });
const upstream = { host: '127.0.0.1', port: Number(process.env.UPSTREAM), agent };

http.createServer((request, response) => {
  http.get(upstream, (answer) => {
    let body = '';
    answer.on('data', (part) => { body += part; });
    answer.on('end', () => {
      response.writeHead(200, { 'Content-Length': body.length });
      response.end(body);
    });
  }).on('error', (error) => {
    response.writeHead(502, { 'Content-Length': 0 });
    response.end();
  });
}).listen(Number(process.env.PORT), '127.0.0.1');

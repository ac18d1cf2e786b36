// A page takes 5 ms of the one thread there is; a report takes TURN_MS, and whoever comes meanwhile waits for it.
'use strict';
const http = require('http');
const turnMs = Number(process.env.TURN_MS);

function busy(ms) {
  const end = process.hrtime.bigint() + BigInt(ms) * 1000000n;
  while (process.hrtime.bigint() < end);
}

function renderPage() {
  busy(5);
  return 'page\n';
}

function renderYearlyReport() {
  busy(turnMs);
  return 'report\n';
}

http.createServer((request, response) => {
  const body = request.url === '/report' ? renderYearlyReport() : renderPage();
  response.writeHead(200, { 'Content-Length': body.length });
  response.end(body);
}).listen(Number(process.env.PORT), '127.0.0.1');

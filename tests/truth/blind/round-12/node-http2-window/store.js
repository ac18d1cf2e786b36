// store.js PORT: serves a report of 300 KB over HTTP/2.
const http2 = require('http2');

const report = Buffer.alloc(300_000, 'a line of a report\n');
const server = http2.createServer();
server.on('stream', (stream) => {
  stream.respond({ ':status': 200 });
  stream.end(report);
});
server.listen(Number(process.argv[2]), '0.0.0.0');

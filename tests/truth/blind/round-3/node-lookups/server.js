// PORT UPSTREAM: asks a service by its name for each request, and sends a metric to a host by name
const dgram = require('dgram'), http = require('http');
const [port, upstream] = process.argv.slice(2);
const metrics = dgram.createSocket('udp4');
metrics.on('error', () => {});
http.createServer((_, answer) => {
  metrics.send('page.views:1|c', 8125, 'metrics.example.com', () => {});
  http.get({ host: 'shop.example.com', port: upstream, agent: false }, (page) => page.pipe(answer))
    .on('error', (error) => { answer.statusCode = 500; answer.end(String(error)); });
}).listen(port, '127.0.0.1');

// server.js PORT STORE WINDOW: fetches a report from a store over HTTP/2, and tells how large it is.
const http = require('http');
const http2 = require('http2');

const [port, store, window] = process.argv.slice(2).map(Number);
const session = http2.connect(`http://10.9.0.2:${store}`, { settings: window ? { initialWindowSize: window } : {} });
if (window) session.once('connect', () => session.setLocalWindowSize(window));

http
  .createServer((_, answer) => {
    const stream = session.request({ ':path': '/' });
    let bytes = 0;
    stream.on('data', (piece) => (bytes += piece.length));
    stream.on('end', () => answer.end(`${bytes}\n`));
    stream.end();
  })
  .listen(port, '127.0.0.1');

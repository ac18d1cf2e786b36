// server.js PORT each|once: makes a preview by a worker thread, which is started for each request or once.
const http = require('http');
const { Worker, isMainThread, parentPort } = require('worker_threads');

function preview(number) {
  const zlib = require('zlib');
  return zlib.deflateSync(Buffer.alloc(20_000, `line ${number}\n`)).length;
}

if (!isMainThread) {
  for (const name of ['crypto', 'http', 'https', 'stream', 'url', 'zlib']) require(name);
  parentPort.on('message', (number) => parentPort.postMessage(preview(number)));
} else {
  const [port, how] = process.argv.slice(2);
  const kept = how === 'once' ? new Worker(__filename) : null;
  let number = 0;
  http
    .createServer((_, answer) => {
      const worker = kept || new Worker(__filename);
      worker.once('message', (length) => {
        answer.end(`${length}\n`);
        if (!kept) worker.terminate();
      });
      worker.postMessage(number++);
    })
    .listen(Number(port), '127.0.0.1');
}

// server.js PORT timeout|immediate: makes an export row by row, and lets others have their turn after each piece of it.
const http = require('http');

const PIECES = 60;
const [port, how] = process.argv.slice(2);
const later = how === 'timeout' ? (done) => setTimeout(done, 0) : setImmediate;

async function exported() {
  let length = 0;
  for (let piece = 0; piece < PIECES; piece++) {
    const rows = Array.from({ length: 50 }, (_, row) => ({ piece, row, name: `row ${row}` }));
    length += JSON.stringify(rows).length;
    await new Promise(later);
  }
  return length;
}

http
  .createServer(async (_, answer) => {
    answer.end(`${await exported()}\n`);
  })
  .listen(Number(port), '127.0.0.1');

// service PORT REDIS always|changed: pages of a shop with a session in Redis, which is read and written back.
const http = require('http');
const net = require('net');

const redis = net.connect(Number(process.argv[3]), '127.0.0.1');
redis.setNoDelay(true);
const waiting = [];
let parts = [];
let length = 0;
redis.on('data', (chunk) => {
  parts.push(chunk);
  length += chunk.length;
  while (length) {
    const all = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    const line = all.indexOf('\r\n');
    if (line < 0) { parts = [all]; return; }
    let end = line + 2;
    let value = null;
    if (all[0] === 36 && all[1] !== 45) {
      const size = Number(all.toString('latin1', 1, line));
      if (all.length < end + size + 2) { parts = [all]; return; }
      value = all.toString('utf8', end, end + size);
      end += size + 2;
    }
    parts = [all.subarray(end)];
    length = all.length - end;
    waiting.shift()(value);
  }
});

function command(...words) {
  redis.write(`*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join(''));
  return new Promise((resolve) => { waiting.push(resolve); });
}

function newSession() {
  const seen = [];
  for (let n = 0; n < Number(process.argv[4]); n++) {
    seen.push({ id: n, name: `Product ${n}`, price: n * 1.19, tags: ['new', 'sale'], at: '2026-11-30T12:00:00Z' });
  }
  return { user: 17, cart: [1, 2, 3], seen };
}

async function loadSession(id) {
  const text = await command('GET', id);
  return text ? JSON.parse(text) : newSession();
}

async function saveSession(id, session) {
  session.last = Date.now();
  await command('SET', id, JSON.stringify(session));
}

http.createServer(async (request, response) => {
  const session = await loadSession('session:17');
  const body = `cart: ${session.cart.length}\n`;
  await saveSession('session:17', session);
  response.writeHead(200, { 'Content-Length': body.length });
  response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');

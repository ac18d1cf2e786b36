// server.js PORT PAUSE_EACH: answers, and settles carts each second.
const http = require('http');

const [port, pauseEach] = process.argv.slice(2).map(Number);
const carts = Array.from({ length: 10000 }, (_, number) => ({ number, items: Array(400).fill(number) }));
const prices = new Map(carts.map((cart) => [cart.number, Promise.resolve(cart.number * 3)]));

async function sum(cart) {
  let total = 0;
  for (const item of cart.items) total += (await prices.get(item)) % 7;
  return total;
}

async function settle() {
  const end = performance.now() + 1000;
  for (const cart of carts) {
    cart.total = await sum(cart);
    if (cart.number % pauseEach === pauseEach - 1) await new Promise(setImmediate);
  }
  setTimeout(settle, Math.max(50, end - performance.now()));
}

settle();
http.createServer((_, answer) => answer.end('ok\n')).listen(port, '127.0.0.1');

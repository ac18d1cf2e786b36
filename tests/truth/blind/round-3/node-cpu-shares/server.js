// PORT: sorts some numbers for each request
const http = require('http');
http.createServer((_, answer) => {
  const numbers = Array.from({ length: 8000 }, (_, i) => (i * 7919) % 10007).sort((a, b) => a - b);
  answer.end(String(numbers[5]));
}).listen(process.argv[2], '127.0.0.1');

// PORT FORMAT: lists orders with their dates, with one formatter for all or a new one for each
const http = require("http");
const [port, format] = process.argv.slice(2);
const style = { timeZone: "Europe/Berlin", dateStyle: "full", timeStyle: "short" };
const kept = new Intl.DateTimeFormat("de-DE", style);

function dateOf(order) {
  const date = new Date(1.7e12 + order * 36e5);
  return format === "kept" ? kept.format(date) : new Intl.DateTimeFormat("de-DE", style).format(date);
}

http.createServer((request, response) => {
  const lines = [];
  for (let order = 0; order < 500; order++) lines.push(`${order} ${dateOf(order)}`);
  const body = lines.join("\n");
  response.writeHead(200, { "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}).listen(port, "127.0.0.1");

// PORT SERVICE SOCKETS: passes each request on, over so many sockets
const http = require("http");
const [port, service, maxSockets] = process.argv.slice(2).map(Number);
const agent = new http.Agent({ keepAlive: true, maxSockets });

http.createServer((request, response) => {
  http.get({ port: service, host: "127.0.0.1", agent }, (answer) => {
    const pieces = [];
    answer.on("data", (piece) => pieces.push(piece));
    answer.on("end", () => {
      const body = Buffer.concat(pieces);
      response.writeHead(200, { "Content-Length": body.length });
      response.end(body);
    });
  });
}).listen(port, "127.0.0.1");

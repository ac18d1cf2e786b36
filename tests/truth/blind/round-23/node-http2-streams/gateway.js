// Asks a service for what it is asked for, over one connection.
const http = require("http");
const http2 = require("http2");

const service = http2.connect(`http://127.0.0.1:${process.env.SERVICE}`);

function ask(path, whenAnswered) {
  const call = service.request({ ":path": path });
  const parts = [];
  call.on("data", (part) => parts.push(part));
  call.on("error", () => whenAnswered(502, ""));
  call.on("end", () => whenAnswered(200, Buffer.concat(parts)));
  call.end();
}

service.on("connect", () => {
  http
    .createServer((request, response) => {
      ask(request.url, (status, answer) => {
        response.statusCode = status;
        response.end(answer);
      });
    })
    .listen({ port: process.env.PORT, host: "127.0.0.1", backlog: 1500 });
});

// Answers after 80 ms, over HTTP/2, so many at a time on a connection.
const http2 = require("http2");

const server = http2.createServer({ settings: { maxConcurrentStreams: Number(process.env.STREAMS) } });
server.on("stream", (stream) => {
  setTimeout(() => {
    stream.respond({ ":status": 200 });
    stream.end("a price\n");
  }, 80);
});
server.listen(process.env.SERVICE, "127.0.0.1");

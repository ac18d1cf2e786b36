// PORT REDIS one|two: answers with a key of Redis, and takes jobs of a queue.
"use strict";
const http = require("http");
const net = require("net");
const [port, redisPort, connections] = process.argv.slice(2);

// A client that sends commands as they come; its answers are one line, one value, or nothing.
const open = () => {
  const socket = net.connect(redisPort, "127.0.0.1");
  const waiting = [];
  let text = "";
  socket.setNoDelay(true);
  socket.on("data", (piece) => {
    text += piece;
    for (let found; (found = text.match(/^(\*-1|\$-1|[+:][^\r]*|\$\d+\r\n[^\r]*)\r\n/)); ) {
      text = text.slice(found[0].length);
      waiting.shift()(found[1].split("\r\n").pop());
    }
  });
  return (...words) =>
    new Promise((resolve) => {
      waiting.push(resolve);
      socket.write(`*${words.length}\r\n` + words.map((word) => `$${word.length}\r\n${word}\r\n`).join(""));
    });
};

const redis = open();
const queue = connections === "one" ? redis : open();

const takeJobs = async () => {
  for (;;) {
    await queue("BLPOP", "jobs", "1");
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
};

redis("SET", "banner", "hello").then(takeJobs);
http
  .createServer(async (request, response) => {
    const body = await redis("GET", "banner");
    response.setHeader("Content-Length", body.length);
    response.end(body);
  })
  .listen(port, "127.0.0.1");

// server.js PORT shift|index: keeps events in a queue until they can be sent.
"use strict";
const http = require("http");

const [port, take] = process.argv.slice(2);
const backlog = 600000;
const events = [];
let first = 0;
for (let number = 0; number < backlog; number++) events.push({ number });

function taken() {
  if (take === "shift") return events.shift();
  const event = events[first];
  events[first++] = undefined;
  return event;
}

http
  .createServer((request, response) => {
    let sum = 0;
    for (let count = 0; count < 60; count++) {
      events.push({ number: count });
      sum += taken().number;
    }
    response.end(`${sum}\n`);
  })
  .listen(Number(port), "127.0.0.1");

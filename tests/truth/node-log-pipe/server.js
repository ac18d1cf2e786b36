// Writes 30 kB to its log, in the thread that serves all, before each answer.
const fs = require("fs");
const line = "x".repeat(30000) + "\n";

require("http").createServer((request, response) => {
  fs.writeSync(1, line);
  response.end("a page\n");
}).listen(process.env.PORT, "127.0.0.1");

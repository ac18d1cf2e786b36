// Answers with a template, and looks after changes of all.
const fs = require("fs");
const http = require("http");
const path = require("path");

const changed = new Set();

function watchFolder(folder) {
  if (process.env.WATCH === "inotify") {
    fs.watch(folder, (event, name) => changed.add(path.join(folder, name)));
    return;
  }
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name);
    fs.watchFile(file, { interval: 100 }, () => changed.add(file));
  }
}

const root = path.join(process.env.folder, "templates");
for (const folder of fs.readdirSync(root)) watchFolder(path.join(root, folder));

let turn = 0;
http
  .createServer((request, response) => {
    turn += 1;
    fs.readFile(path.join(root, String((turn % 400) + 1), "1.html"), (error, text) => {
      response.statusCode = error ? 500 : 200;
      response.end(text);
    });
  })
  .listen(process.env.PORT, "127.0.0.1");

// Answers with a page from memory, or with a picture from the disk.
const fs = require("fs");
const http = require("http");
const path = require("path");

const pictures = path.join(process.env.disk, "pictures");
const page = Buffer.alloc(4000, "x");

function sendPicture(response, name) {
  const file = path.join(pictures, name);
  if (process.env.READ === "loop") {
    response.end(fs.readFileSync(file));
    return;
  }
  fs.readFile(file, (error, picture) => {
    response.statusCode = error ? 500 : 200;
    response.end(picture);
  });
}

http
  .createServer((request, response) => {
    const turn = Number(request.url.slice(1));
    if (turn % 3 === 0) sendPicture(response, `${(turn / 3) % 6000}.jpg`);
    else response.end(page);
  })
  .listen(process.env.PORT, "127.0.0.1");

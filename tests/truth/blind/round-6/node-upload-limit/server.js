// PORT DIRECTORY: keeps what is uploaded, each in a file of its own.
const fs = require("fs");
const http = require("http");
const [port, directory] = process.argv.slice(2);
let number = 0;
http.createServer((request, response) => {
	const file = fs.createWriteStream(`${directory}/upload-${number++}`);
	request.pipe(file);
	file.on("finish", () => response.end("kept\n"));
}).listen(Number(port), "127.0.0.1");

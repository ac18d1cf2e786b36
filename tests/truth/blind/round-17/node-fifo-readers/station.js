// station.js PORT: shows a page, and the last value of each sensor, which come by named pipes.
const fs = require('fs');
const http = require('http');

const last = {};
for (const name of ['sensor-1', 'sensor-2', 'sensor-3', 'sensor-4'])
	fs.createReadStream(name, { encoding: 'utf8' }).on('data', (text) => { last[name] = text.trim(); });

http.createServer((request, response) => {
	fs.readFile('page.html', 'utf8', (error, page) => {
		const body = page + JSON.stringify(last);
		response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) });
		response.end(body);
	});
}).listen(Number(process.argv[2]), '127.0.0.1');

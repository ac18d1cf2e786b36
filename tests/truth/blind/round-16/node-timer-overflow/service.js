// service.js PORT DAYS: answers with a price list; the list of sessions is swept every so many days.
const http = require('http');

const sessions = new Map();
for (let number = 0; number < 60000; number++)
	sessions.set(`session-${number}`, { user: number, seen: Date.now() });

function sweepSessions() {
	const oldest = Date.now() - 90 * 86400 * 1000;
	for (const [name, session] of sessions) {
		if (new Date(session.seen).getTime() < oldest)
			sessions.delete(name);
	}
}

setInterval(sweepSessions, Number(process.argv[3]) * 86400 * 1000);

const prices = Array.from({ length: 40 }, (_, item) => ({ item, cents: item * 119 }));
http.createServer((request, response) => {
	const body = JSON.stringify(prices);
	response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) });
	response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');

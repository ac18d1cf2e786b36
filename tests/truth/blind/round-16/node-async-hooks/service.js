// service.js PORT: an answer is resolved field by field, each of which may be a promise, as in GraphQL.
const http = require('http');

const records = Array.from({ length: 400 }, (_, id) => ({ id, name: `record ${id}`, owner: id % 7, tags: ['a', 'b'] }));

async function field(record, name) {
	return record[name];
}

async function resolve(record) {
	const resolved = {};
	for (const name of Object.keys(record))
		resolved[name] = await field(record, name);
	return resolved;
}

http.createServer(async (request, response) => {
	const body = JSON.stringify(await Promise.all(records.map(resolve)));
	response.writeHead(200, { 'Content-Length': Buffer.byteLength(body) });
	response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');

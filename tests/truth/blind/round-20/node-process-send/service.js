// Prices of a catalogue, which a child process looks after: "all" asks it for all of them each time.
const http = require('http')
const { fork } = require('child_process')

if (process.argv[2] === 'keeper') {
	const items = []
	for (let id = 0; id < 60000; id++) items.push({ id, name: `item ${id}`, price: (id * 7) % 1000, tags: ['red', 'blue'] })
	process.on('message', ({ call, id }) => process.send({ call, answer: id === undefined ? items : items[id] }))
} else {
	const keeper = fork(__filename, ['keeper'])
	const waiting = new Map()
	let calls = 0
	keeper.on('message', ({ call, answer }) => {
		waiting.get(call)(answer)
		waiting.delete(call)
	})
	const ask = (question) =>
		new Promise((resolve) => {
			waiting.set(++calls, resolve)
			keeper.send({ ...question, call: calls })
		})
	http
		.createServer(async (request, response) => {
			const id = calls % 60000
			const item = process.env.ASKS === 'all' ? (await ask({})).find((each) => each.id === id) : await ask({ id })
			response.end(`${item.price}\n`)
		})
		.listen(process.env.PORT, '127.0.0.1')
}

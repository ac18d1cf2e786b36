// Takes uploads, and says how long they are: "grow" adds each piece to one buffer.
const http = require('http')

http
	.createServer((request, response) => {
		let body = Buffer.alloc(0)
		const pieces = []
		request.on('data', (piece) => {
			if (process.env.HOW === 'grow') body = Buffer.concat([body, piece])
			else pieces.push(piece)
		})
		request.on('end', () => {
			if (process.env.HOW !== 'grow') body = Buffer.concat(pieces)
			const answer = `${body.length} bytes\n`
			response.writeHead(200, { 'Content-Length': answer.length })
			response.end(answer)
		})
	})
	.listen(process.env.PORT, '127.0.0.1')

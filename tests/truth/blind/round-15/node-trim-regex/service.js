// service.js PORT SPACES: shows ten posts in turn, trimmed; one of them has a comment with so many spaces in it.
const http = require('http');

const spaces = ' '.repeat(Number(process.argv[3]));
const posts = [];
for (let post = 0; post < 10; post++)
	posts.push(post === 7 ? `play happy sound on${spaces}player.play` : `  post ${post} ${'text '.repeat(40)} `);
let shown = 0;

function trimmed(text) {
	return text.replace(/^[\s\u200c]+|[\s\u200c]+$/g, '');
}

http.createServer((request, response) => {
	response.end(`<pre>${trimmed(posts[shown++ % posts.length])}</pre>\n`);
}).listen(Number(process.argv[2]), '127.0.0.1');

// PORT: a page that costs some 15 ms of CPU
const crypto = require('crypto');
require('http').createServer((request, response) => {
    response.end(crypto.pbkdf2Sync('word', 'salt', 60000, 32, 'sha256').toString('hex') + '\n');
}).listen(Number(process.argv[2]), '127.0.0.1');

// server.js PORT left|removed: has had 200,000 sessions, each of which listened to the settings until it had gone, or for ever.
const { EventEmitter } = require('events');
const http = require('http');

const [port, how] = process.argv.slice(2);
const settings = new EventEmitter();
settings.setMaxListeners(0);

class Session {
  constructor(name) {
    this.name = name;
    this.title = '';
    this.onChange = (key, value) => {
      this.title = `${this.name}: ${key} = ${value}`;
      this.changed = Date.now();
    };
    settings.on('change', this.onChange);
  }

  close() {
    if (how === 'removed') settings.off('change', this.onChange);
  }
}

for (let number = 0; number < 200_000; number++) new Session(`user ${number}`).close();

let changes = 0;
http
  .createServer((_, answer) => {
    settings.emit('change', 'theme', ++changes);
    answer.end(`${changes}\n`);
  })
  .listen(Number(port), '127.0.0.1');

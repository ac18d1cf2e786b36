// server.js PORT spread|set: answers with the prices of all articles, by their names.
const http = require('http');

const [port, how] = process.argv.slice(2);
const articles = Array.from({ length: 700 }, (_, number) => ({ name: `article-${number}`, price: number * 3 }));

function bySpread(list) {
  return list.reduce((all, article) => ({ ...all, [article.name]: article.price }), {});
}

function bySetting(list) {
  const all = {};
  for (const article of list) all[article.name] = article.price;
  return all;
}

const prices = how === 'spread' ? bySpread : bySetting;
http.createServer((_, answer) => answer.end(JSON.stringify(prices(articles)))).listen(Number(port), '127.0.0.1');

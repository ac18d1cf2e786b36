// A page with the rate of the day.
const http = require("http");
const agent = new http.Agent({ keepAlive: true });

function get(port, path, headers = {}) {
  return new Promise((resolve, reject) => {
    http
      .get({ host: "127.0.0.1", port, path, agent, headers }, (answer) => {
        let body = "";
        answer.on("data", (piece) => (body += piece));
        answer.on("end", () => resolve(JSON.parse(body)));
      })
      .on("error", reject);
  });
}

let known = null;

async function token() {
  if (!known || known.expires_at * Number(process.env.UNIT) < Date.now()) {
    known = await get(process.env.TOKENS, "/token");
  }
  return known.token;
}

http
  .createServer(async (request, response) => {
    const rates = await get(process.env.RATES, "/rates", { authorization: `Bearer ${await token()}` });
    response.end(`${rates.rate}\n`);
  })
  .listen(process.env.PORT, "127.0.0.1");

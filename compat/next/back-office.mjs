/** Hears what the shop did with the events, and can keep the shop waiting. */
import { createServer } from "node:http";

export async function openBackOffice() {
  const heard = [];
  const waiting = new Set();
  let patience = Promise.resolve();

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const what = request.url.slice(1);
    heard.push({ what, ...JSON.parse(body) });
    for (const check of waiting) check();
    if (what === "thanking") await patience;
    response.writeHead(204).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** How many reports there were with these facts. */
  const times = (facts) =>
    heard.filter((one) => Object.entries(facts).every(([name, value]) => one[name] === value)).length;
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    times,
    /** Resolves as soon as there are so many reports with these facts. */
    hears: (facts, { atLeast = 1 } = {}) =>
      new Promise((resolve) => {
        const check = () => {
          if (times(facts) < atLeast) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    /** From now on "thanking" is not answered, until the returned function is called. */
    keepWaiting() {
      let release;
      patience = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

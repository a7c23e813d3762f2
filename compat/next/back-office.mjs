/** Receives the shop's reports of what it did with the events, and can delay the responses. */
import { createServer } from "node:http";

export async function openBackOffice() {
  const reports = [];
  const waiting = new Set();
  let released = Promise.resolve();

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const what = request.url.slice(1);
    reports.push({ what, ...JSON.parse(body) });
    for (const check of waiting) check();
    if (what === "thanking") await released;
    response.writeHead(204).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** The number of reports with these members. */
  const count = (members) =>
    reports.filter((one) => Object.entries(members).every(([name, value]) => one[name] === value)).length;
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    count,
    /** Resolves when there are so many reports with these members. */
    received: (members, { atLeast = 1 } = {}) =>
      new Promise((resolve) => {
        const check = () => {
          if (count(members) < atLeast) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    /** From now on a "thanking" report gets no response, until the returned function is called. */
    delayResponses() {
      let release;
      released = new Promise((resolve) => {
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

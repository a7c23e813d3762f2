/** A bulk run with the built client; crash-bulk.ts kills and restarts it. Prints what it has reached as one line of JSON each. */

import { fileCheckpoint, issueCards } from "../dist/bulk.js";
import { createIssuingClient } from "../dist/index.js";

const [baseUrl, apiKey, template, count, file] = process.argv.slice(2);
const client = createIssuingClient({ baseUrl, apiKey, timeoutMs: 1_000 });
const consents = { privacy: { version: "1" } };

function* readRows() {
  for (let userId = 0; userId < Number(count); userId++) {
    const phone = `+48${600_000_000 + userId}`;
    yield { userId, request: { customer: { phone, email: `user${userId}@example.com`, consents } } };
  }
}

let progress;
const report = (more) => {
  const rss = process.memoryUsage.rss();
  console.log(JSON.stringify({ ...progress, rss, maxRss: process.resourceUsage().maxRSS * 1024, ...more }));
};
const results = issueCards(client, readRows(), {
  template,
  total: Number(count),
  checkpoint: fileCheckpoint(file),
  onProgress(reached) {
    progress = reached;
    report();
  },
});
for await (const { index, status } of results) {
  if (status === "rejected" || status === "unknown") report({ index, status });
}
report({ done: true });

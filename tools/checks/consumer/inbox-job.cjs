/** Receipt and effect on SQLite: the same for both kinds of modules. */
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");

exports.inboxJob = async ({ sqliteInbox, markProcessed }) => {
  const folder = mkdtempSync(join(tmpdir(), "consumer-inbox-"));
  const inbox = sqliteInbox({ file: join(folder, "inbox.db") });
  const event = { id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" };
  const body = new TextEncoder().encode(JSON.stringify(event));
  const put = () =>
    inbox.put(event, { body, receivedAt: new Date() }, { signal: new AbortController().signal });
  const results = [await put(), await put()];
  await new Promise((resolve) => {
    inbox.work((delivered, { write }) => {
      write((database) => {
        if (!markProcessed(database, delivered)) throw new Error("processed twice");
      });
      setImmediate(resolve);
    });
  });
  await inbox.close();
  rmSync(folder, { recursive: true });
  console.log(`${results.join(", ")}, processed once`);
};

/**
 * One sign-up after another on a SQLite file, with an outbox and by hand: each measurement is a
 * fresh process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTimers } from "../measure.mjs";

const users = "CREATE TABLE users (id TEXT PRIMARY KEY, card TEXT)";
const insertUser = "INSERT INTO users (id) VALUES (?)";
const updateUser = "UPDATE users SET card = ? WHERE id = ?";
const shops = {
  "by hand: INSERT, issueCard, UPDATE": openByHand,
  "outbox: write, add, issue": openOutbox,
};

export default {
  title: "A sign-up",
  notes:
    "2 000 times: store the user, issue the card, store the card. By hand two writes to the disk, with the outbox three: the lease must be on the disk before the request is sent, or a second card is possible after a power failure.",
  figures: {
    time: { label: "µs" },
    cpu: { label: "CPU µs" },
  },
  floor: "by hand: INSERT, issueCard, UPDATE",
  own: ["outbox: write, add, issue"],
  panels: [{ name: "one after another", starts: 1, rounds: 7, signUps: 2_000 }],
  packages: [],
  alone: Object.keys(shops),
  async measureAlone(name, baseUrl, { signUps }) {
    const { createIssuingClient } = await import("@loyalty-cards/issuing-client");
    const folder = mkdtempSync(join(tmpdir(), "loyalty-cards-sign-up-"));
    const client = createIssuingClient({ baseUrl, apiKey: "k" });
    const signUp = await shops[name](client, join(folder, "shop.db"));
    for (let id = 0; id < 300; id++) await signUp(id);
    const stop = startTimers();
    for (let id = 300; id < 300 + signUps; id++) await signUp(id);
    const figures = stop(signUps);
    rmSync(folder, { recursive: true });
    return figures;
  },
};

const toRequest = (id) => ({
  fieldValues: { name: "Anna" },
  customer: { phone: `+48${600_000_000 + id}`, consents: { privacy: { version: "1" } } },
});

async function openByHand(client, path) {
  const { openLibsql } = await import("@loyalty-cards/issuing-outbox");
  const { DatabaseSync = undefined } = process.getBuiltinModule?.("node:sqlite") ?? {};
  const database = DatabaseSync === undefined ? openLibsql(path) : new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  database.exec(users);
  const insert = database.prepare(insertUser);
  const update = database.prepare(updateUser);
  return async (id) => {
    insert.run(String(id));
    const card = await client.issueCard("t", toRequest(id), { userId: id });
    update.run(card.id, String(id));
  };
}

async function openOutbox(client, path) {
  const { sqliteOutbox } = await import("@loyalty-cards/issuing-outbox");
  let insert;
  let update;
  const outbox = sqliteOutbox({
    client,
    file: path,
    onIssued({ userId, cardId }, database) {
      update ??= database.prepare(updateUser);
      update.run(cardId, userId);
    },
  });
  await outbox.write((database) => {
    database.exec(users);
    insert = database.prepare(insertUser);
  });
  outbox.work();
  return async (id) => {
    await outbox.write((database) => {
      insert.run(String(id));
      outbox.add(database, { userId: id, template: "t", request: toRequest(id) });
    });
    const { state } = await outbox.issue(id);
    if (state !== "issued") throw new Error(`The card of ${id} is ${state}.`);
  };
}

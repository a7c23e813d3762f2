/** A shop on Koa with a form, and SQLite: written from the READMEs and guides of the packages. */
import { text } from "node:stream/consumers";
import Router from "@koa/router";
import { createIssuingClient, type IssueCardRequest } from "@loyalty-cards/issuing-client";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import { onEvents } from "@loyalty-cards/webhook-verify";
import { koaReceiver } from "@loyalty-cards/webhook-verify/koa";
import Koa from "koa";

const { SHOP_FILE = "shop.db", LOYALTY_TEMPLATE_ID = "", LOYALTY_SIGNING_SECRET = "", PORT } = process.env;

const outbox = sqliteOutbox({
  client: createIssuingClient(),
  file: SHOP_FILE,
  onIssued({ userId, cardId }, database) {
    database.prepare("UPDATE people SET card = ? WHERE id = ?").run(cardId, userId);
  },
});
await outbox.write((database) =>
  database.exec(`
    CREATE TABLE IF NOT EXISTS people (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, card TEXT);
    CREATE TABLE IF NOT EXISTS points (card TEXT PRIMARY KEY, balance REAL NOT NULL)`),
);
outbox.work();

const inbox = sqliteInbox({ file: SHOP_FILE });
inbox.work(
  onEvents({
    "balance.changed": (event, delivery) => {
      const { passId, balance } = event.data;
      delivery.write((database) => {
        if (!isNewest(database, `balance of ${passId}`, event)) return;
        database.prepare("INSERT OR REPLACE INTO points VALUES (?, ?)").run(passId, balance);
      });
    },
    otherTypes: () => {},
  }),
);

const escapeHtml = (value: string) => value.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const page = (title: string, content: string) =>
  `<!doctype html><html lang="en"><title>${title}</title><body>${content}</body></html>`;
const showForm = (message: string) =>
  page(
    "Join",
    `<p>${escapeHtml(message)}</p><form method="post"><input type="hidden" name="source" value="web&amp;till">
     <input name="name"><input name="email"><input name="phone"><button>Join</button></form>`,
  );

const router = new Router();
router.post("/hooks", koaReceiver({ secret: LOYALTY_SIGNING_SECRET, inbox }));
router.get("/join", (context) => {
  context.body = showForm("Join the club.");
});
router.post("/join", async (context) => {
  const form = new URLSearchParams(await text(context.req));
  const [name, email, phone] = ["name", "email", "phone"].map((field) => (form.get(field) ?? "").trim()) as [
    string,
    string,
    string,
  ];
  if (email === "" || form.get("source") !== "web&till") {
    context.status = 400;
    context.body = showForm("Fill in the form.");
    return;
  }
  const request: IssueCardRequest = {
    fieldValues: { name },
    customer: { name, email, phone, consents: { privacy: { version: "2026-01" } } },
  };
  const userId = await outbox.write((database) => {
    const insert = `INSERT INTO people (id, email) VALUES (?, ?)
      ON CONFLICT (email) DO UPDATE SET email = excluded.email RETURNING id`;
    const { id } = database.prepare(insert).get(crypto.randomUUID(), email.toLowerCase()) as { id: string };
    const state = outbox.add(database, { userId: id, template: LOYALTY_TEMPLATE_ID, request });
    if (state === "rejected") outbox.correct(database, id, request);
    return id;
  });
  const { state, publicUrl, error } = await outbox.issue(userId, { deadlineMs: 5_000 });
  if (state === "rejected") {
    context.status = 422;
    context.body = showForm(error?.userMessage ?? "The form was rejected.");
  } else if (publicUrl !== undefined) context.redirect(publicUrl);
  else context.body = page("Welcome", "<p>You are a member. Your card follows.</p>");
});

const app = new Koa();
app.use(router.routes());
app.listen(Number(PORT));

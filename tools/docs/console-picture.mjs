/** `npm run console-picture`: takes the picture of the console that the README shows, on a mock service with some members. Install compat first: `npm ci --prefix compat`. */
import { fileURLToPath } from "node:url";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { openBrowser } from "../../compat/browser.mjs";

const names = ["Anna Nowak", "Ben Carter", "Carla Rossi", "David Meyer", "Ewa Zielińska", "Farid Haddad"];
const receiver = { url: "http://127.0.0.1:3000/webhooks/loyalty", events: ["balance.changed", "card.added"] };
const mock = await startMockServer({
  port: 4010,
  templates: [
    {
      id: "tpl_coffee",
      name: "Coffee club",
      fields: [{ key: "name", label: "Name", type: "name", required: true }],
    },
  ],
  endpoints: [receiver],
  fetch: async () => new Response(null, { status: 204 }),
  log: () => {},
});
const issue = (name, index, key = mock.service.apiKeys.website) =>
  fetch(`${mock.url}/api/v1/templates/tpl_coffee/passes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": `user-${index}`,
    },
    body: JSON.stringify({
      fieldValues: { name },
      customer: {
        email: `${name.split(" ")[0].toLowerCase()}@example.com`,
        phone: index === 3 ? "12" : `60010020${index}`,
        consents: { privacy: { version: "2026-01" } },
      },
    }),
  });
const cards = [];
await issue(names[0], 0, "mock_webiste_key");
for (const [index, name] of names.entries()) cards.push((await (await issue(name, index)).json()).id);
await issue(names[0], 0); // a form that is sent twice
mock.service.faults.add({ kind: "status", phase: "before", status: 503, times: 1 });
for (const _attempt of ["first", "retry"]) await issue("Greta Olsen", names.length);
for (const id of cards.slice(0, 3)) mock.service.cards.purchase(id, { points: 120 });
await mock.service.idle();

const { browser, close } = await openBrowser();
const page = await browser.newPage();
await page.setViewport({ width: 1280, height: 900 });
await page.goto(`${mock.url}/console#/requests`, { waitUntil: "networkidle2" });
await page.waitForSelector("tbody tr");
const path = fileURLToPath(new URL("../../docs/diagrams/console.png", import.meta.url));
// The picture ends below the last row.
const height = await page.$eval("table", (table) => Math.ceil(table.getBoundingClientRect().bottom) + 28);
await page.screenshot({ path, clip: { x: 0, y: 0, width: 1280, height } });
await close();
await mock.close();

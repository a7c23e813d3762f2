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
const authorization = `Bearer ${mock.service.apiKeys.website}`;
const issue = (name, index) =>
  fetch(`${mock.url}/api/v1/templates/tpl_coffee/passes`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "idempotency-key": `user-${index}` },
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
for (const [index, name] of names.entries()) cards.push((await (await issue(name, index)).json()).id);
await issue(names[0], 0); // a form that is sent twice
for (const id of cards.slice(0, 3)) mock.service.cards.purchase(id, { points: 120 });
await mock.service.idle();

const { browser, close } = await openBrowser();
const page = await browser.newPage();
await page.setViewport({ width: 1280, height: 640 });
await page.goto(`${mock.url}/console#/requests`, { waitUntil: "networkidle2" });
await page.waitForSelector("tbody tr");
await page.screenshot({ path: fileURLToPath(new URL("../../docs/diagrams/console.png", import.meta.url)) });
await close();
await mock.close();

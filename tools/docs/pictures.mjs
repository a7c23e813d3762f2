/**
 * `node --conditions=@loyalty-cards/source --import tsx tools/docs/pictures.mjs`: takes the pictures of the README, of the demo in a
 * terminal and of the console. Install compat first: `npm ci --prefix compat`.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { openBrowser } from "../../compat/browser.mjs";

const toPath = (name) => fileURLToPath(new URL(`../../docs/diagrams/${name}.png`, import.meta.url));

/** The output of the demo, with the only colour that it uses. */
function renderTerminal() {
  const program = fileURLToPath(new URL("../../examples/demo/demo.ts", import.meta.url));
  const flags = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];
  const output = execFileSync(process.execPath, [...flags, program], {
    env: { ...process.env, FORCE_COLOR: "1" },
    encoding: "utf8",
  });
  const html = `\x1b[32m$\x1b[39m npm run demo\n${output}`
    .replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll("\x1b[32m", "<b>")
    .replaceAll("\x1b[39m", "</b>");
  const style =
    "pre { width: 80ch; padding: 16px; font: 13px/15px monospace; white-space: pre-wrap; overflow-wrap: anywhere; color: #e6edf3; background: #161b22; border-radius: 10px; } b { color: #7ee787; }";
  return `<style>${style}</style><pre>${html}</pre>`;
}

const names = ["Anna Nowak", "Ben Carter", "Carla Rossi", "David Meyer", "Ewa Zielińska", "Farid Haddad"];

/** Starts a mock service with some members, mistakes of a website, and deliveries of which one fails. */
async function startShop() {
  const fields = [{ key: "name", label: "Name", type: "name", required: true }];
  const mock = await startMockServer({
    port: 4010,
    templates: [{ id: "tpl_coffee", name: "Coffee club", fields }],
    endpoints: [{ url: "http://127.0.0.1:3000/webhooks/loyalty", events: ["balance.changed", "card.added"] }],
    deliver: async (request) =>
      (await request.text()).includes('"balance":140')
        ? Response.json({ error: "TypeError: customer is undefined at balances.ts:12" }, { status: 500 })
        : new Response(null, { status: 204 }),
    log: () => {},
  });
  const issue = (name, index, apiKey = mock.service.apiKeys.website) => {
    const email = `${name.split(" ")[0].toLowerCase()}@example.com`;
    const phone = index === 3 ? "12" : `60010020${index}`;
    const customer = { email, phone, consents: { privacy: { version: "2026-01" } } };
    return createIssuingClient({ baseUrl: mock.url, apiKey })
      .issueCard("tpl_coffee", { fieldValues: { name }, customer }, { idempotencyKey: `user-${index}` })
      .catch(() => undefined);
  };
  const cards = [];
  await issue(names[0], 0, "mock_webiste_key");
  for (const [index, name] of names.entries()) cards.push((await issue(name, index))?.id);
  await issue(names[0], 0); // a form that is sent twice
  mock.service.faults.add({ kind: "status", phase: "before", status: 503, times: 1 });
  await issue("Greta Olsen", names.length); // the client tries again
  for (const [index, id] of cards.slice(0, 3).entries())
    mock.service.cards.purchase(id, { points: 120 + 10 * index });
  await mock.service.idle();
  return mock;
}

const browser = await openBrowser();
const page = await browser.newPage();
await page.setViewport({ width: 1280, height: 900 });
await page.setContent(renderTerminal());
await (await page.$("pre")).screenshot({ path: toPath("demo"), omitBackground: true });

const mock = await startShop();
await page.goto(`${mock.url}/console`);
await page.locator(".status.bad::-p-text(500)").click();
await page.locator(".detail .pre").wait();
await page.evaluate(() => document.activeElement.blur());
// The picture ends below the last row.
const height = await page.$eval(".rows", (rows) => Math.ceil(rows.getBoundingClientRect().bottom) + 28);
await page.screenshot({ path: toPath("console"), clip: { x: 0, y: 0, width: 1280, height } });
await browser.close();
await mock.close();

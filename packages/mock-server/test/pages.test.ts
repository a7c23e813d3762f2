/**
 * The pages: a card's public page and what it links to (spec 2.2), the console, the API reference.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { openMockShop, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import { createMockService } from "../src/index.ts";
import { openServer } from "./integration/command.ts";

const page = async (service: { fetch(request: Request): Promise<Response> }, address: string) => {
  const response = await service.fetch(new Request(address));
  return { status: response.status, headers: response.headers, text: await response.text() };
};

async function cardWith(fieldValues: object, points = 0) {
  const { service, issue } = openMockShop();
  const { body: card } = await issue(toSignUp({}, fieldValues));
  if (points > 0) service.cards.purchase(card.id, { points });
  return { service, card };
}

it("quotes a copied curl for the shell, in which only the API key is a variable", async () => {
  const script = new URL("../static/console/format.js", import.meta.url).href;
  const { bearer, toCurl } = await import(script);
  const hostile = "$LOYALTY_API_KEY$(echo x)`echo y`'\"\\";
  const headers = { authorization: bearer, "idempotency-key": hostile, other: bearer };
  const url = "http://127.0.0.1/api?$(echo x)";
  const curl: string = toCurl("POST", url, headers, hostile);
  const command = curl.replace(/^curl/, "printf '%s\\n'");
  const printed = execFileSync("sh", ["-c", command], {
    env: { LOYALTY_API_KEY: "k'1" },
    encoding: "utf8",
  });
  const sent = ["authorization: Bearer k'1", `idempotency-key: ${hostile}`, `other: ${bearer}`];
  const options = ["-i", "-X", "POST", url, ...sent.flatMap((header) => ["-H", header])];
  expect(printed.split("\n")).toEqual([...options, "--data-raw", hostile, ""]);
});

it("shows shop, holder, balance, tier, progress to the next tier, a QR code and both wallets", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" }, 25);
  const { status, headers, text } = await page(service, card.publicUrl);
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  for (const shown of [
    "Club",
    "Anna",
    "<strong>25</strong> points",
    "Silver",
    "75 more to Gold",
    "<svg",
  ]) {
    expect(text).toContain(shown);
  }
  const slug = card.publicUrl.split("/").at(-1);
  for (const link of [`"${slug}/pass.pkpass"`, `"${slug}/google"`]) expect(text).toContain(link);
  for (const wallet of ["apple", "google"])
    expect(text).toContain(`../assets/add-to-${wallet}-wallet.svg`);
});

it("shows the code of the card as text, in groups of four, and a phone the wallet of its platform", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" });
  const { text } = await page(service, card.publicUrl);
  const [, code] = /<p>((?:<span>.{4}<\/span>)+)<\/p>/.exec(text) ?? [];
  expect(code?.replaceAll(/<\/?span>/g, "")).toBe(card.publicUrl.split("/").at(-1));
  const getWallets = async (userAgent: string) => {
    const request = new Request(card.publicUrl, { headers: { "user-agent": userAgent } });
    const text = await (await service.fetch(request)).text();
    return [...text.matchAll(/alt="Add to (\w+) Wallet"/g)].map(([, name]) => name);
  };
  expect(await getWallets("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)")).toEqual([
    "Apple",
  ]);
  expect(await getWallets("Mozilla/5.0 (Linux; Android 15; Pixel 9)")).toEqual(["Google"]);
  expect(await getWallets("Mozilla/5.0 (Macintosh)")).toEqual(["Apple", "Google"]);
});

it("has the colour of the template, and says Member below the first tier", async () => {
  const template = { id: "tpl_club", name: "Club", color: "#8A5027" };
  const { service, issue } = openMockShop({ templates: [template] });
  const { body: card } = await issue(toSignUp({}, {}));
  const { text } = await page(service, card.publicUrl);
  const [, file] = /href="..(\/assets\/card-\w+\.css)"/.exec(text) ?? [];
  const style = await page(service, `${service.baseUrl}${file}`);
  expect([style.status, style.text]).toEqual([200, ":root { --card: #8A5027; }\n"]);
  expect(text).toContain('<span class="tier">Member</span>');
  const wrong = { ...template, id: "tpl_other", color: "red" };
  expect(() => service.templates.create(wrong)).toThrow('"color" must match ^#[0-9a-fA-F]{6}$');
});

it("shows the progress to the next tier from the points that count for it, and a long balance in smaller type", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" }, 120);
  service.cards.expire(card.id, { points: 95, keepBalance: true });
  const { text } = await page(service, card.publicUrl);
  for (const shown of [
    "<strong>120</strong> points",
    "Silver",
    'value="15" max="90"',
    "75 more to Gold",
  ])
    expect(text).toContain(shown);
  service.cards.purchase(card.id, { points: 1_234_567.25 });
  expect((await page(service, card.publicUrl)).text).toContain(
    '<strong class="long">1,234,687.25</strong> points',
  );
});

it("does not contain the card's id, the customer's id or contact data", async () => {
  const { service, issue } = openMockShop();
  const { body: card } = await issue(toSignUp({ phone: "+48600100200", email: "anna@shop.test" }));
  const { text } = await page(service, card.publicUrl);
  for (const secret of [card.id, card.customerId, "600100200", "anna@shop.test"])
    expect(text).not.toContain(secret);
});

it("escapes the texts of customers and shops", async () => {
  const nasty = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;
  const tiers = [1, 9].map((from) => ({ name: nasty, from }));
  const template = {
    id: "tpl_club",
    name: nasty,
    fields: [{ key: "name", type: "name" as const }],
    tiers,
  };
  const { service, issue } = openMockShop({ templates: [template] });
  const { body: card } = await issue(toSignUp({}, { name: nasty }));
  service.cards.purchase(card.id, { points: 5 });
  for (const address of [card.publicUrl, `${card.publicUrl}/apple`, `${card.publicUrl}/google`]) {
    const { text } = await page(service, address);
    const escaped = text.match(/&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;&amp;&lt;img/g);
    expect(escaped?.length).toBeGreaterThan(2);
    expect(text).not.toMatch(
      /<script(?! src="[./]*assets\/card\.js" type="module"><\/script>)|<img src=x/,
    );
  }
});

it("loads nothing from other servers and cannot be framed", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" });
  const { headers } = await page(service, card.publicUrl);
  expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(headers.get("referrer-policy")).toBe("same-origin");
});

it("responds 404 with a page when the card does not exist", async () => {
  const { service } = openMockShop();
  for (const path of ["/cards/nobody", "/cards/nobody/pass.pkpass", "/cards/nobody/google"]) {
    const { status, headers, text } = await page(service, service.baseUrl + path);
    expect([status, headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain("There is no card here");
    const [, console = ""] = /href="([./]+console#\/cards)"/.exec(text) ?? [];
    const { pathname, hash } = new URL(console, service.baseUrl + path);
    expect(pathname + hash).toBe("/console#/cards");
  }
});

it.each([
  ["http://127.0.0.1:4010", true],
  ["http://192.168.0.7:4010", false],
])("says in the footer how a phone opens a card, at %s: %s", async (baseUrl, isSaid) => {
  const { service, issue } = openMockShop({ baseUrl });
  const { body: card } = await issue();
  const [, footer = ""] = (await page(service, card.publicUrl)).text.split("<footer>");
  expect(footer.includes("--host 192.168.0.7")).toBe(isSaid);
});

it("shows cards of an archived template", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" });
  service.templates.archive("tpl_club");
  expect((await page(service, card.publicUrl)).status).toBe(200);
});

it("has buttons and links of wallets of other names", async () => {
  const wallets = { first: "first", second: 'a"b<c/ü' };
  const { service, issue } = openMockShop({ wallets });
  const { body: card } = await issue();
  const name = encodeURIComponent(wallets.second);
  expect((await page(service, card.publicUrl)).text).toContain(
    `../assets/add-to-${name}-wallet.svg`,
  );
  const button = await page(service, `${service.baseUrl}/assets/add-to-${name}-wallet.svg`);
  expect([button.status, button.headers.get("content-type")]).toEqual([
    200,
    "image/svg+xml; charset=utf-8",
  ]);
  expect(button.text).toContain("A&quot;b&lt;c/ü Wallet");
  expect(button.text.match(/display="\w+"/g)).toEqual(['display="none"', 'display="inline"']);
  expect((await page(service, `${card.publicUrl}/${name}`)).status).toBe(200);
  expect((await page(service, `${service.baseUrl}/assets/add-to-apple-wallet.svg`)).status).toBe(
    404,
  );
});

it("leads from the file of the first wallet's link, which the mock does not make, to a page", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" });
  const { status, headers } = await page(service, `${card.publicUrl}/pass.pkpass`);
  const location = new URL(headers.get("location") ?? "", `${card.publicUrl}/pass.pkpass`).href;
  expect([status, location]).toEqual([302, `${card.publicUrl}/apple`]);
});

it.each([
  ["apple", "Apple Wallet", "first"],
  ["google", "Google Wallet", "second"],
])(
  "shows the card in the %s wallet and adds it there, with a note for developers in the footer",
  async (wallet, title, look) => {
    const { service, card } = await cardWith({ firstName: "Anna" });
    const address = `${card.publicUrl}/${wallet}`;
    const { status, headers, text } = await page(service, address);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const [main = "", footer = ""] = text.split("<footer>");
    for (const shown of [
      `<section class="note wallet ${look}">`,
      'aria-label="QR code of this card"',
      `This card will be in ${title} on your phone`,
      `<button aria-label="Add to ${title}">Add</button>`,
    ])
      expect(main).toContain(shown);
    expect(main).not.toMatch(/mock|console|<code>/);
    for (const shown of [`this link opens ${title}`, `addToWallet(id, "${wallet}")`, "card.added"])
      expect(footer).toContain(shown);

    const add = (headers = {}) => service.fetch(new Request(address, { method: "POST", headers }));
    expect((await add({ origin: "https://elsewhere.test" })).status).toBe(403);
    expect((await page(service, card.publicUrl)).text).not.toContain(`In ${title}`);
    for (const time of ["first", "second"]) {
      const { status, headers } = await add();
      const location = new URL(headers.get("location") ?? "", address).href;
      expect([time, status, location]).toEqual([time, 303, card.publicUrl]);
    }
    const added = (await page(service, card.publicUrl)).text;
    expect(added).toContain(`In ${title}`);
    expect(added).not.toContain(`/${wallet}"`);
    expect((await page(service, address)).text).not.toContain("<button");
    service.cards.removeFromWallet(card.id, wallet);
    expect((await page(service, address)).text).toContain("<button");
  },
);

describe("the address of the service", () => {
  it("responds 200 to GET and HEAD without headers, as readiness probes send them, and is the console", async () => {
    const { url } = await openServer();
    const console = await (await fetch(`${url}/console`)).text();
    expect(await (await fetch(url)).text()).toBe(console);
    const { status, headers } = await fetch(url, { method: "HEAD" });
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  });
});

describe("the console", () => {
  const service = createMockService();
  const request = (path: string) =>
    service.fetch(new Request(service.baseUrl + path, { redirect: "manual" }));

  it("serves every file that its page names, with its modules and Preact in one script", async () => {
    const page = await (await request("/console")).text();
    const paths = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path]) => path);
    expect(paths.sort()).toEqual([
      "assets/card.css",
      "assets/colors.css",
      "assets/icon.svg",
      "console/console.css",
      "console/main.js",
      "console/phone.css",
      "console/rows.css",
      "console/views.css",
    ]);
    for (const path of paths)
      expect([path, (await request(`/${path}`)).status]).toEqual([path, 200]);
    const script = await (await request("/console/main.js")).text();
    expect(script).not.toMatch(/^import |\bimport\(|\beval\(|new Function/m);
    const folder = new URL("../static/console/", import.meta.url);
    for (const name of readdirSync(folder)) {
      const code = readFileSync(new URL(name, folder), "utf8");
      expect(code).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/,
      );
    }
  });

  it("has no inline script or style, and a policy that forbids them", async () => {
    const response = await request("/console");
    expect(response.headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/);
    expect(await response.text()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
  });

  it("redirects from a slash at the end", async () => {
    const slash = await request("/console/");
    expect([slash.status, slash.headers.get("location")]).toEqual([308, "../console"]);
  });
});

/** The status of a path as it is written, which fetch would tidy first. */
const getStatus = (url: string, path: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    get({ hostname, port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", reject);
  });

it("has no file at another path", async () => {
  const { url } = await openServer();
  for (const path of [
    "/api/docs/../../package.json",
    "/api/docs/..%2f..%2fpackage.json",
    "/api/docs/%2e%2e/%2e%2e/package.json",
    "/api/docs//etc/passwd",
    "/api/docs/package.json",
    "/api/docs/swagger-ui-bundle.js%00.css",
    "/console/..%2freference%2fstart.js",
    "/console/__proto__",
    "/assets/..%2fconsole%2findex.html",
    "/assets/%2e%2e/x",
    "/assets/",
    "/assets/toString",
  ])
    expect([path, await getStatus(url, path)]).toEqual([path, 404]);
  expect(await getStatus(url, "/api/docs/..\\..\\package.json")).toBe(400);
});

describe("the reference", () => {
  it("is a page with the seeded key, and the files that it needs", async () => {
    const { url, service } = await openServer();
    const reference = await page({ fetch }, `${url}/api/docs`);
    expect(reference.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(reference.text).toContain(`data-api-key="${service.apiKeys.website}"`);
    const files = [...reference.text.matchAll(/(?:src|href)="(docs\/[^"]+\.\w+)"/g)].map(
      ([, file]) => file,
    );
    expect(files).toHaveLength(4);
    const names = ["parts", "typescript", "elements"];
    const modules = names.map((name) => `docs/${name}.js`);
    for (const file of [...files, ...modules]) {
      const { status, headers, text } = await page({ fetch }, `${url}/api/${file}`);
      const mediaType = file?.endsWith(".css") ? "text/css" : "text/javascript";
      expect([status, headers.get("content-type")]).toEqual([200, `${mediaType}; charset=utf-8`]);
      expect(text.length).toBeGreaterThan(100);
    }
  });

  it("is the document in process", async () => {
    const service = createMockService();
    expect((await page(service, `${service.baseUrl}/api/docs`)).text).toContain('"openapi":"3.1');
    expect((await page(service, `${service.baseUrl}/api/docs/swagger-ui-bundle.js`)).status).toBe(
      404,
    );
  });
});

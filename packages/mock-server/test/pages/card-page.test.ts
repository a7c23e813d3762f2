/** The public page of a card, what it links to (spec 2.2), and the template literals it is written with. */
import { describe, expect, it } from "vitest";
import { createMockService } from "../../src/index.ts";
import { html } from "../../src/pages/html.ts";
import { openShop, signUp } from "../shop.ts";

const page = async (service: { fetch(request: Request): Promise<Response> }, address: string) => {
  const response = await service.fetch(new Request(address));
  return { status: response.status, headers: response.headers, text: await response.text() };
};

async function cardWith(fieldValues: object, points = 0) {
  const { service, issue } = openShop();
  const { body: card } = await issue(signUp({}, fieldValues));
  if (points > 0) service.cards.purchase(card.id, { points });
  return { service, card };
}

it("shows shop, holder, balance, level, progress to the next level, a QR code and both wallets", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" }, 25);
  const { status, headers, text } = await page(service, card.publicUrl);
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  for (const shown of ["Club", "Anna", "<strong>25</strong> points", "Silver", "75 more to Gold", "<svg"]) {
    expect(text).toContain(shown);
  }
  const slug = card.publicUrl.split("/").at(-1);
  for (const link of [`"${slug}/pass.pkpass"`, `"${slug}/google"`]) expect(text).toContain(link);
  for (const wallet of ["apple", "google"]) expect(text).toContain(`../assets/add-to-${wallet}-wallet.svg`);
});

it("shows the progress to the next level from the points that count for it, and a long balance in smaller type", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" }, 120);
  service.cards.expire(card.id, { points: 95, keepBalance: true });
  const { text } = await page(service, card.publicUrl);
  for (const shown of ["<strong>120</strong> points", "Silver", 'value="15" max="90"', "75 more to Gold"])
    expect(text).toContain(shown);
  service.cards.purchase(card.id, { points: 1_234_567.25 });
  expect((await page(service, card.publicUrl)).text).toContain(
    '<strong class="long">1,234,687.25</strong> points',
  );
});

it("does not contain the card's id, the customer's id or contact data", async () => {
  const { service, issue } = openShop();
  const { body: card } = await issue(signUp({ phone: "+48600100200", email: "anna@shop.test" }));
  const { text } = await page(service, card.publicUrl);
  for (const secret of [card.id, card.customerId, "600100200", "anna@shop.test"])
    expect(text).not.toContain(secret);
});

it("escapes the texts of customers and shops", async () => {
  const nasty = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>`;
  const service = createMockService({
    templates: [
      {
        id: "t",
        name: nasty,
        fields: [{ key: "name", type: "name" }],
        tiers: [
          { name: nasty, from: 1 },
          { name: nasty, from: 9 },
        ],
      },
    ],
  });
  const response = await service.fetch(
    new Request(`${service.baseUrl}/api/v1/templates/t/passes`, {
      method: "POST",
      headers: { authorization: `Bearer ${service.apiKeys.website}`, "content-type": "application/json" },
      body: JSON.stringify(signUp({}, { name: nasty })),
    }),
  );
  const card = (await response.json()) as { id: string; publicUrl: string };
  service.cards.purchase(card.id, { points: 5 });
  for (const address of [card.publicUrl, `${card.publicUrl}/pass.pkpass`, `${card.publicUrl}/google`]) {
    const { text } = await page(service, address);
    expect(
      text.match(/&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;&amp;&lt;img/g)?.length,
    ).toBeGreaterThan(2);
    expect(text).not.toMatch(/<script(?! src="[./]*assets\/card\.js" type="module"><\/script>)|<img src=x/);
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
  const { service } = openShop();
  for (const path of ["/cards/nobody", "/cards/nobody/pass.pkpass", "/cards/nobody/google"]) {
    const { status, headers, text } = await page(service, service.baseUrl + path);
    expect([status, headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain("There is no card here");
  }
});

it("shows cards of an archived template", async () => {
  const { service, card } = await cardWith({ firstName: "Anna" });
  service.templates.archive("tpl_club");
  expect((await page(service, card.publicUrl)).status).toBe(200);
});

describe("wallets of other names", () => {
  const wallets = { first: "first", second: 'a"b<c/ü' };

  it("have buttons, and the link of the second wallet", async () => {
    const { service, issue } = openShop({ wallets });
    const { body: card } = await issue();
    const { text } = await page(service, card.publicUrl);
    const name = encodeURIComponent(wallets.second);
    expect(text).toContain(`../assets/add-to-${name}-wallet.svg`);
    const button = await page(service, `${service.baseUrl}/assets/add-to-${name}-wallet.svg`);
    expect([button.status, button.headers.get("content-type")]).toEqual([
      200,
      "image/svg+xml; charset=utf-8",
    ]);
    expect(button.text).toContain("A&quot;b&lt;c/ü Wallet");
    expect((await page(service, `${card.publicUrl}/${name}`)).status).toBe(200);
    expect((await page(service, `${service.baseUrl}/assets/add-to-apple-wallet.svg`)).status).toBe(404);
  });
});

it("serves the files of its pages, and no others", async () => {
  const { service } = openShop();
  const style = await page(service, `${service.baseUrl}/assets/card.css`);
  expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
  for (const path of [
    "/assets/..%2fconsole%2findex.html",
    "/assets/%2e%2e/x",
    "/assets/",
    "/assets/toString",
  ]) {
    expect((await page(service, service.baseUrl + path)).status).toBe(404);
  }
});

it.each([
  ["apple", "Apple Wallet", "pass.pkpass"],
  ["google", "Google Wallet", "google"],
])(
  "explains what the link of a real card does, and adds the card to the %s wallet with a button",
  async (wallet, title, leaf) => {
    const { service, card } = await cardWith({ firstName: "Anna" });
    const address = `${card.publicUrl}/${leaf}`;
    const { status, headers, text } = await page(service, address);
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    for (const shown of [
      `A real card opens ${title} here`,
      "This card is from a mock service",
      `<button>Add to ${title}</button>`,
      `addToWallet(id, &quot;${wallet}&quot;)`,
    ])
      expect(text.replaceAll('"', "&quot;")).toContain(shown);

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
    expect(added).not.toContain(`/${leaf}"`);
    expect((await page(service, address)).text).not.toContain("<button>");
    service.cards.removeFromWallet(card.id, wallet);
    expect((await page(service, address)).text).toContain("<button>");
  },
);

it("escapes text in content and in quoted attributes, and does not escape markup", () => {
  const nasty = `</p><script>"'&`;
  expect(String(html`<p title="${nasty}">${nasty}${html`<b>${1}</b>`}</p>`)).toBe(
    '<p title="&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;">&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;<b>1</b></p>',
  );
});

it("writes nothing for absent values, and joins lists", () => {
  expect(String(html`${undefined}${null}${[html`<i></i>`, html`<b></b>`]}${0}`)).toBe("<i></i><b></b>0");
});

it("replaces characters that HTML and XML do not allow", () => {
  expect(String(html`${"a\u0000b\u001Bc\uD800d\uFFFEe\u007F\ttab\u{1F600}"}`)).toBe(
    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD\ttab\u{1F600}",
  );
});

/** The search of the built site: the index that readers load, with the options of the site, finds the page that they look for first. */
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import config from "../../../../docs/.vitepress/config.ts";

const { resolve } = createRequire(new URL("../../../../docs/package.json", import.meta.url));
const { default: MiniSearch } = await import(pathToFileURL(resolve("minisearch")).href);
const chunks = new URL("../../../../docs/.vitepress/dist/assets/chunks/", import.meta.url);
const name = readdirSync(chunks).find((file) => file.startsWith("@localSearchIndexroot"));
const { default: json } = await import(new URL(name, chunks).href);

/** The defaults of VitePress's VPLocalSearchBox.vue, and the options of the site, merged as it merges them. */
const index = MiniSearch.loadJSON(json, {
  fields: ["title", "titles", "text"],
  storeFields: ["title", "titles"],
  searchOptions: {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, text: 2, titles: 1 },
    ...config.themeConfig.search.options.miniSearch.searchOptions,
  },
});

describe("the search", () => {
  it.each([
    ["retry", /^guides\/production/],
    ["401", /^errors\/unauthorized/],
    ["undefined userId", /^errors\/configuration|^guides\/common-mistakes/],
    ["GDPR", /^guides\/outbox#forget-a-user/],
    ["delete customer", /^guides\/outbox/],
    ["refund", /^guides\/receiving-webhooks#order/],
    ["quick start", /^guides\/getting-started/],
    ["quickstart", /^guides\/getting-started/],
    ["tutorial", /^guides\/getting-started/],
    ["CORS", /^guides\/troubleshooting#errors-of-the-client/],
    ["429", /^errors\/rate-limited/],
    ["rate limit", /^errors\/rate-limited/],
    ["secret rotation", /^guides\/receiving-webhooks/],
    ["duplicate webhook", /^guides\/(receiving-webhooks|troubleshooting#duplicate)/],
    ["idempotency", /^guides\/sign-up/],
    ["outbox", /^guides\/(outbox|sign-up#outbox)/],
    ["import csv", /^guides\/(bulk|command-line)/],
    ["mock server", /^guides\/testing|^packages\/mock-server/],
    ["hmac", /^guides\//],
    ["timeout", /^guides\/production|^errors\/timeout/],
    ["constructor", /./], // a member of every object
    ["createIssuingClient", /^reference\/issuing-client\/functions\/createIssuingClient/],
  ])("finds for %s its page first", (words, expected) => {
    const found = index.search(words).map(({ id }) => id.replace("/loyalty-cards/", ""));
    expect(found[0], found.slice(0, 8).join("\n")).toMatch(expected);
  });
});

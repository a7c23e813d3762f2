/** `import` while the service fails: seconds, because the outbox pauses. */
import { expect, it } from "vitest";
import { args, openShop, toCsv, toRows } from "./import-shop.ts";

it.each([
  ["429 with Retry-After", { phase: "before", kind: "status", status: 429, retryAfterSeconds: 1 }],
  ["503", { phase: "before", kind: "status", status: 503 }],
  ["connections that are cut after the card was issued", { phase: "after-commit", kind: "reset" }],
] as const)("issues every card once after a storm of %s, and shows the failure", async (_name, fault) => {
  const { run, service, countCards } = await openShop({ "members.csv": toCsv(toRows(60)) });
  service.faults.add({ ...fault, times: 5, match: { operation: "issueCard" } });
  const { code, stdout, stderr } = await run(["import", "members.csv", ...args, "--concurrency", "1"], {
    isTTY: true,
  });
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^Complete: 60 rows in \d+ s\n {2}issued +60 .*\n {2}rejected +0 .*\n$/),
  ]);
  expect(stderr).toMatch(/the last request failed/);
  expect(await countCards()).toBe(60);
});

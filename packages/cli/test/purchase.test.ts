/** `purchase`: an event of a card that exists, through the control API of the running mock service. */
import { describe, expect, it } from "vitest";
import { listen, openMock, run, secret, startReceiver } from "./terminal.ts";

const issue = ["issue", "--user-id", "7", "--privacy", "2026-01", "--phone", "+48600100200", "--json"];

describe("purchase", () => {
  it("changes the balance of the card, and delivers balance.changed of that card", async () => {
    const { url, accepted } = await startReceiver();
    const { env, service } = await openMock({ endpoints: [{ url, secret, events: ["balance.changed"] }] });
    const { id } = JSON.parse((await run(issue, { env })).stdout);
    const { code, stdout, stderr } = await run(["purchase", id, "120"], { env });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Purchase of 120 points: the balance is 120 \(op_\w+\)\n$/);
    expect(service.cards.get(id).loyaltyBalance).toBe(120);
    await expect
      .poll(() => accepted.map(({ event }) => event))
      .toMatchObject([{ type: "balance.changed", data: { passId: id, balance: 120 } }]);
  });

  it("prints the operation with --json", async () => {
    const { env } = await openMock();
    const { id } = JSON.parse((await run(issue, { env })).stdout);
    const { stdout } = await run(["purchase", id, "7", "--json"], { env });
    expect(JSON.parse(stdout)).toMatchObject({ type: "purchase", change: 7, balance: 7 });
  });

  it("fails for a card that does not exist, and for points that are not a whole number", async () => {
    const { env } = await openMock();
    expect(await run(["purchase", "card_none", "120"], { env })).toEqual({
      code: 1,
      stdout: "",
      stderr: 'loyalty-cards: There is no card "card_none".\n',
    });
    expect((await run(["purchase", "x", "0"], { env })).stderr).toContain("whole number of at least 1");
  });

  it("sends no purchase and no key to a service that is not the mock", async () => {
    const requests: string[] = [];
    const LOYALTY_URL = await listen(({ method, url, headers }, response) => {
      requests.push(`${method} ${url} ${headers.authorization}`);
      response.writeHead(404).end();
    });
    const env = { LOYALTY_URL, LOYALTY_API_KEY: "lk" };
    const { code, stderr } = await run(["purchase", "card_1", "120"], { env });
    expect([code, requests]).toEqual([2, ["GET /_mock/health undefined"]]);
    expect(stderr).toContain("This address is not a mock service");
  });

  it("says what to start when nothing listens", async () => {
    const { env, close } = await openMock();
    await close();
    const { code, stderr } = await run(["purchase", "card_1", "120"], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining("Run `loyalty-cards dev`")]);
  });
});

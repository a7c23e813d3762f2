/** `trigger`: each event, against a receiver as users mount it and against wrong ones. */
import { isKnownEvent } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { knownTypes } from "../src/webhook/events.ts";
import { createFolder, listen, parseLines, run, secret, startReceiver, startResponding } from "./terminal.ts";

describe("trigger", () => {
  it.each(knownTypes)("sends a %s that a receiver verifies and knows", async (type) => {
    const { env, accepted } = await startReceiver();
    const { code, stdout, stderr } = await run(["trigger", type, "--card", "card_1"], { env });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^✓ 204 +\\d+ ms {2}${type} evt_\\w+\n$`));
    const [{ event, deliveryId }] = accepted as [(typeof accepted)[0]];
    expect([event.type, isKnownEvent(event), deliveryId]).toEqual([
      type,
      true,
      expect.stringMatching(/^dlv_/),
    ]);
    if (type !== "ping") expect(JSON.stringify(event.data)).toContain('"card_1"');
  });

  it("sends an event twice with --duplicate, as a retry does", async () => {
    const { env, accepted } = await startReceiver();
    const { code, stdout } = await run(["trigger", "balance.changed", "--duplicate", "--json"], { env });
    expect([code, parseLines(stdout).map(({ status, passed }) => [status, passed])]).toEqual([
      0,
      [
        [204, true],
        [204, true],
      ],
    ]);
    expect(accepted).toHaveLength(2);
    expect(accepted[0]).toEqual(accepted[1]);
  });

  it.each([
    ["has another path", 404, /Nothing receives POST at \/webhooks/],
    ["has no POST", 405, /Nothing receives POST/],
    ["has another secret", 401, /same secret/],
    ["redirects", 307, /does not follow redirects/],
    ["fails", 503, /deliver the event again/],
    ["rejects the media type", 415, /every response except 2xx as a failure/],
  ])("exits with 1 when the receiver %s", async (_name, status, advice) => {
    const { env } = await startResponding(status, { location: "/elsewhere" });
    const { code, stdout } = await run(["trigger", "ping", "--json"], { env });
    expect(code).toBe(1);
    expect(parseLines(stdout)).toMatchObject([
      { status, passed: false, advice: expect.stringMatching(advice) },
    ]);
  });

  it("exits with 1 when nothing listens, and says so in lines of at most 80 columns", async () => {
    const args = ["trigger", "ping", "--to", "http://127.0.0.1:9/"];
    const { code, stdout } = await run(args, { env: { LOYALTY_SIGNING_SECRET: secret } });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^✗ --- .*ECONNREFUSED\n +Nothing listens there\. Is it running/),
    ]);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("says that the port of an https address does not speak https", async () => {
    const { url, env } = await startReceiver();
    const { code, stdout } = await run(["trigger", "ping", "--to", url.replace("http:", "https:")], { env });
    expect([code, stdout.replaceAll(/\s+/g, " ")]).toEqual([
      1,
      expect.stringMatching(/^✗ --- .*That port does not seem to speak https\. Use http:\/\/ for a program/),
    ]);
  });

  it("exits with 1 when there is no response within --timeout", async () => {
    const url = await listen((request) => void request.resume());
    const args = ["trigger", "ping", "--to", url, "--timeout", "1", "--json"];
    const { code, stdout } = await run(args, { env: { LOYALTY_SIGNING_SECRET: secret } });
    expect([code, parseLines(stdout)[0]]).toEqual([1, expect.objectContaining({ error: "timeout" })]);
  });

  it("reads the secret and the address from .env", async () => {
    const { url, accepted } = await startReceiver();
    const variables = `LOYALTY_WEBHOOK_URL=${url}\nLOYALTY_SIGNING_SECRET=${secret}\n`;
    const cwd = createFolder({ ".env": variables });
    expect((await run(["trigger", "ping"], { cwd })).code).toBe(0);
    expect(accepted).toHaveLength(1);
  });

  const to = ["--to", "http://localhost:1/"];
  const withSecret = { LOYALTY_SIGNING_SECRET: secret };

  it("exits with 2 for a misspelt type, and suggests what the types are", async () => {
    const { code, stderr } = await run(["trigger", "balance.change", ...to], { env: withSecret });
    expect([code, stderr]).toEqual([2, expect.stringContaining("card.added")]);
  });

  it.each<[string, string[], Record<string, string>, RegExp]>([
    ["without a secret", to, {}, /no signing secret: set LOYALTY_SIGNING_SECRET/],
    [
      "with white space around the secret",
      to,
      { LOYALTY_SIGNING_SECRET: "whsec_hidden\r" },
      /LOYALTY_SIGNING_SECRET has white space/,
    ],
    ["without an address", [], withSecret, /no address of a receiver: add it to the command/],
    [
      "without a scheme in the address",
      ["--to", "localhost:3305/x"],
      withSecret,
      /The address of the receiver has no scheme: write https:\/\/ before the host, or http:/,
    ],
    ["with text as the address", ["--to", "http://"], withSecret, /"http:\/\/" is not an address/],
    ["with http to the internet", ["--to", "http://shop.example.com/"], withSecret, /must use https/],
    [
      "with a password in the address",
      ["--to", "https://a:hidden@shop.example.com/"],
      withSecret,
      /remove it/,
    ],
  ])("exits with 2 %s, and sends nothing", async (_name, args, env, message) => {
    const { code, stdout, stderr } = await run(["trigger", "ping", ...args], { env });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(message)]);
    expect(stderr).not.toContain("hidden");
  });
});

/**
 * `webhook verify`, `sign` and `doctor`, and `trigger`: bodies in files and on stdin, a right
 * receiver and wrong ones.
 */
import { eventTypes } from "@loyalty-cards/openapi/events";
import { createFolder, listen } from "@loyalty-cards/testing/resources";
import { isKnownEvent, signWebhookSync, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { parseLines, run, secret, start, startReceiver, startResponding } from "./terminal.ts";

const env = { LOYALTY_SIGNING_SECRET: secret };
const body = '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"}';
const timestamp = 1_767_225_600;
const sign = (rawBody: string | Uint8Array, key = secret) =>
  signWebhookSync({ rawBody, secret: key, timestamp });
const signature = sign(body);
const at = ["--at", "2026-01-01T00:00:05Z"];

const verify = (stdin: string | Uint8Array, header: string, ...args: string[]) =>
  run(["webhook", "verify", "--body", "-", "--signature", header, ...args], { env, stdin });

describe("webhook verify", () => {
  it("verifies a body of a file, or of stdin, at the time of its arrival", async () => {
    const cwd = createFolder({ "body.json": body });
    const args = ["webhook", "verify", "--body", "body.json", "--signature", signature, ...at];
    expect(await run(args, { env, cwd })).toMatchObject({
      code: 0,
      stdout: "✓ verified  ping evt_1, signed at 2026-01-01T00:00:00.000Z\n",
    });
    const header = `Service-Signature: ${signature}`;
    const { code, stdout } = await verify(body, header, "--at", "1767225605", "--json");
    const event = { id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" };
    const verdict = { verified: true, event, signedAt: "2026-01-01T00:00:00.000Z", isKnown: true };
    expect([code, parseLines(stdout)]).toEqual([0, [verdict]]);
  });

  it("says when the data differs from the contract", async () => {
    const other =
      '{"id":"evt_1","type":"balance.changed","createdAt":"2026-01-01T00:00:00.000Z","data":{}}';
    const { code, stdout } = await verify(other, sign(other), ...at);
    expect([code, stdout]).toEqual([0, expect.stringContaining("not in this version's contract")]);
  });

  const [lf, crlf] = [body.replaceAll(",", ",\n"), body.replaceAll(",", ",\r\n")];

  it.each<[string, string | Uint8Array, string, string, string, RegExp]>([
    [
      "an added line break",
      `${body}\n`,
      signature,
      "",
      "mismatch",
      /without the line break at the end/,
    ],
    ["a lost line break", body, sign(`${body}\n`), "", "mismatch", /with a line break at the end/],
    ["CRLF instead of LF", crlf, sign(lf), "", "mismatch", /with LF as line breaks/],
    ["LF instead of CRLF", lf, sign(crlf), "", "mismatch", /with CRLF as line breaks/],
    ["a byte order mark", `\uFEFF${body}`, signature, "", "mismatch", /byte order mark/],
    [
      "formatted JSON",
      JSON.stringify(JSON.parse(body), null, 2),
      signature,
      "",
      "mismatch",
      /compact form/,
    ],
    [
      "UTF-16 with a line break, as PowerShell writes it",
      Buffer.from(`\uFEFF${body}\r\n`, "utf16le"),
      signature,
      "",
      "mismatch",
      /the capture is UTF-16/,
    ],
    [
      "UTF-16 with the other order of bytes",
      Buffer.from(`\uFEFF${body}`, "utf16le").swap16(),
      signature,
      "",
      "mismatch",
      /the capture is UTF-16/,
    ],
    [
      "base64",
      `${Buffer.from(body).toString("base64")}\n`,
      signature,
      "",
      "mismatch",
      /what this base64 encodes/,
    ],
    ["JSON in a string", JSON.stringify(body), signature, "", "mismatch", /inside the quotes/],
    ["quotes of a shell", `'${body}'\n`, signature, "", "mismatch", /inside the quotes/],
    ["another secret", body, sign(body, "whsec_2"), "", "mismatch", /Compare the secret/],
    ["a text of letters", "hello", signature, "", "mismatch", /Compare the secret/],
    ["base64 that was cut", "eyJpZCI6I", signature, "", "mismatch", /Compare the secret/],
    ["base64 with a wrong end", "abc==", signature, "", "mismatch", /Compare the secret/],
    [
      "bytes that are not text",
      Uint8Array.of(255, 0, 254),
      signature,
      "",
      "mismatch",
      /Compare the secret/,
    ],
    ["an old one", body, signature, "1767229200", "stale", /1 h before/],
    [
      "one of the future",
      body,
      signature,
      "1767222000",
      "future",
      /1 h after 2025-12-31T23:00:00\.000Z/,
    ],
    ["an empty header", body, "", "", "missing-signature", /Pass the value of the header/],
    ["a cut header", body, signature.slice(0, -1), "", "malformed-signature", /in quotes, once/],
    ["a text that is no event", "[]", sign("[]"), "", "invalid-payload", /not an event/],
  ])("exits with 1 and explains %s", async (_name, captured, header, time, reason, text) => {
    const args = time === "" ? at : ["--at", time];
    const { code, stdout } = await verify(captured, header, ...args, "--json");
    const [verdict] = parseLines(stdout);
    expect([code, verdict]).toEqual([1, expect.objectContaining({ verified: false, reason })]);
    expect(`${verdict?.["explanation"]} ${verdict?.["fix"]}`).toMatch(text);
    const forPeople = await verify(captured, header, ...args);
    expect(forPeople.stdout).toMatch(new RegExp(`^✗ rejected: ${reason}\n`));
    expect(forPeople.stdout).not.toContain(secret);
  });

  it("takes a larger --tolerance", async () => {
    expect((await verify(body, signature, "--at", "1767226200")).code).toBe(1);
    expect((await verify(body, signature, "--at", "1767226200", "--tolerance", "600")).code).toBe(
      0,
    );
  });

  it.each([
    ["no body", [], /required option '--body <file>' not specified/],
    [
      "a missing body",
      ["--body", "nowhere.json"],
      /nowhere\.json cannot be used: no such file or directory \(ENOENT\)/,
    ],
    ["a time that is none", ["--body", "-", "--at", "yesterday"], /--at takes unix seconds/],
    ["a negative time", ["--body", "-", "--at", "-5"], /--at takes unix seconds/],
  ])("exits with 2 for %s", async (_name, args, message) => {
    const { code, stderr } = await run(["webhook", "verify", ...args], { env, stdin: body });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe("webhook sign", () => {
  it("prints the header that a receiver verifies, for curl", async () => {
    const { code, stdout } = await run(["webhook", "sign", "--body", "-"], { env, stdin: body });
    const [, value = ""] = /^Service-Signature: (t=\d+,v1=[0-9a-f]{64})\n$/.exec(stdout) ?? [];
    expect([code, verifyWebhookSync({ rawBody: body, signature: value, secret }).id]).toEqual([
      0,
      "evt_1",
    ]);
  });

  it("says in one sentence that the secret begins with a quote", async () => {
    const quoted = { LOYALTY_SIGNING_SECRET: '"whsec_hidden"' };
    expect(await run(["webhook", "sign", "--body", "-"], { env: quoted, stdin: body })).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "loyalty-cards: LOYALTY_SIGNING_SECRET is a string that begins with a quote, which a shell or a .env file did not remove: remove it.\n",
    });
  });

  it("signs bytes at a time", async () => {
    const stdin = Uint8Array.of(0, 255, 10);
    const { stdout } = await run(["webhook", "sign", "--body", "-", ...at, "--json"], {
      env,
      stdin,
    });
    const value = signWebhookSync({ rawBody: stdin, secret, timestamp: timestamp + 5 });
    expect(parseLines(stdout)).toEqual([{ header: "Service-Signature", value }]);
  });
});

describe("webhook doctor", () => {
  const doctor = ["webhook", "doctor", "--timeout", "1"];

  it("exits with 0 for a right receiver, and prints one line, or with --verbose all checks, without the secret", async () => {
    const { url, env: own } = await startReceiver({ timeoutMs: 500 });
    const patient = ["webhook", "doctor", "--timeout", "20", url]; // half of it would be slow
    const short = run(patient, { env: own });
    const long = run([...patient, "--verbose"], { env: own, isTTY: true });
    expect(await short).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+ checks: \d+ passed\.\n$/),
    });
    const { code, stdout, stderr } = await long;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/✓.*duplicate/)]);
    expect(stderr).toMatch(/checks done, the last one: still-responding/);
    expect(stdout + stderr).not.toContain(secret);
  });

  it("says once in 80 columns why a receiver that accepts everything is wrong, what was sent and what to change", async () => {
    const { env: own } = await startResponding(204);
    const { code, stdout } = await run(doctor, { env: own });
    expect(code).toBe(1);
    expect(stdout.match(/^✗/gm)).toHaveLength(1);
    expect(stdout).toMatch(
      /✗ forged +responded 204\n {4}Sent: .*\(spec 5\.7\)\.\n {4}Verify .*were not run\.\n/s,
    );
    expect(stdout).toMatch(/\d+ checks: \d+ passed, 1 failed.*\.\n$/);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("counts the one check of an address where nothing listens", async () => {
    const { code, stdout } = await run([...doctor, "http://127.0.0.1:1/"], { env });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/\n1 check: 0 passed, 1 failed\.\n$/),
    ]);
  });

  it("stops at Ctrl-C with 130", async () => {
    const { url } = await startReceiver();
    const running = start([...doctor, url, "--verbose"], { env });
    await running.waitFor(/valid/);
    running.interrupt();
    expect((await running.exit).code).toBe(130);
  });

  it("checks a receiver in the network with http, and exits with 2 for one on the internet", async () => {
    const { code, stdout } = await run([...doctor, "http://shop.internal:1/"], { env });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/0 passed, 1 failed\.\n$/)]);
    const refused = await run([...doctor, "http://shop.example.com/"], { env });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/must use https/)]);
  });
});

describe("trigger", () => {
  it.each(eventTypes)("sends a %s that a receiver verifies and knows", async (type) => {
    const { env: own, accepted } = await startReceiver();
    const { code, stdout, stderr } = await run(["trigger", type, "--card", "card_1"], { env: own });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^✓ 204 +\\d+ ms {2}${type} evt_\\w+\n$`));
    expect(accepted).toMatchObject([
      { event: { type }, deliveryId: expect.stringMatching(/^dlv_/) },
    ]);
    for (const { event } of accepted) {
      expect(isKnownEvent(event)).toBe(true);
      if (type !== "ping") expect(JSON.stringify(event.data)).toContain('"card_1"');
    }
  });

  it("sends an event twice with --duplicate, as a retry does", async () => {
    const { env: own, accepted } = await startReceiver();
    const { code, stdout } = await run(["trigger", "balance.changed", "--duplicate", "--json"], {
      env: own,
    });
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
    ["has another path", 404, /Nothing responds to POST at this address: check the path/],
    ["has no POST", 405, /mount the receiver for POST/],
    [
      "has another secret",
      401,
      /log or onOutcome .* another secret .*\(LOYALTY_SIGNING_SECRET\).*`.* webhook doctor`/,
    ],
    ["is behind CSRF protection", 403, /CSRF.* every response except 2xx as a failure/],
    ["redirects", 307, /Use the address that it redirects to.* except 2xx as a failure/],
    ["fails", 503, /could not store the event.* delivers the event again/],
    ["rejects the media type", 415, /every response except 2xx as a failure/],
  ])("exits with 1 when the receiver %s", async (_name, status, advice) => {
    const { env: own } = await startResponding(status, { location: "/elsewhere" });
    const { code, stdout } = await run(["trigger", "ping", "--json"], { env: own });
    expect(code).toBe(1);
    expect(parseLines(stdout)).toMatchObject([
      { status, passed: false, advice: expect.stringMatching(advice) },
    ]);
  });

  it("exits with 1 when nothing listens, and says so in lines of at most 80 columns", async () => {
    const args = ["trigger", "ping", "--to", "http://127.0.0.1:9/"];
    const { code, stdout } = await run(args, { env });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^✗ --- .*ECONNREFUSED\n +Nothing listens there\. Is it running/),
    ]);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("says that the port of an https address does not speak https", async () => {
    const { url } = await startReceiver();
    const { code, stdout } = await run(
      ["trigger", "ping", "--to", url.replace("http:", "https:")],
      { env },
    );
    expect([code, stdout.replaceAll(/\s+/g, " ")]).toEqual([
      1,
      expect.stringMatching(
        /^✗ --- .*That port does not seem to speak https\. Use http:\/\/ for a program/,
      ),
    ]);
  });

  it("exits with 1 when there is no response within --timeout", async () => {
    const url = await listen((request) => void request.resume());
    const args = ["trigger", "ping", "--to", url, "--timeout", "1", "--json"];
    const { code, stdout } = await run(args, { env });
    expect([code, parseLines(stdout)[0]]).toEqual([
      1,
      expect.objectContaining({
        error: "timeout",
        advice: expect.stringMatching(/^Respond first/),
      }),
    ]);
  });

  it("exits with 1 when the response has more than 1 MiB", async () => {
    const url = await listen((_request, response) => void response.end("x".repeat(2 ** 20 + 1)));
    const { code, stdout } = await run(["trigger", "ping", "--to", url, "--json"], { env });
    expect([code, parseLines(stdout)[0]]).toEqual([
      1,
      expect.objectContaining({
        error: "response-too-large",
        advice: "The response has more than 1 MiB: respond 204 without a body.",
      }),
    ]);
  });

  it("reads the secret and the address from .env", async () => {
    const { url, accepted } = await startReceiver();
    const variables = `LOYALTY_WEBHOOK_URL=${url}\nLOYALTY_SIGNING_SECRET=${secret}\n`;
    const cwd = createFolder({ ".env": variables });
    expect((await run(["trigger", "ping"], { cwd })).code).toBe(0);
    expect(accepted).toHaveLength(1);
  });

  const to = ["--to", "http://localhost:1/"];

  it("exits with 2 for a misspelt type, and suggests what the types are", async () => {
    const { code, stderr } = await run(["trigger", "balance.change", ...to], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining("card.added")]);
  });

  it.each<[string, string[], Record<string, string>, RegExp]>([
    ["without a secret", to, {}, /no signing secret: set LOYALTY_SIGNING_SECRET/],
    [
      "with white space around the secret",
      to,
      { LOYALTY_SIGNING_SECRET: "whsec_hidden\r" },
      /LOYALTY_SIGNING_SECRET is a string that ends with white space: trim it/,
    ],
    ["without an address", [], env, /no address of a receiver: add it to the command/],
    [
      "without a scheme in the address",
      ["--to", "localhost:3305/x"],
      env,
      /The address of the receiver has no scheme\. Write https:\/\/ before the host, or http:/,
    ],
    ["with text as the address", ["--to", "http://"], env, /"http:\/\/" is not an address/],
    ["with http to the internet", ["--to", "http://shop.example.com/"], env, /must use https/],
    [
      "with a password in the address",
      ["--to", "https://a:hidden@shop.example.com/"],
      env,
      /remove it/,
    ],
  ])("exits with 2 %s, and sends nothing", async (_name, args, own, message) => {
    const { code, stdout, stderr } = await run(["trigger", "ping", ...args], { env: own });
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringMatching(message)]);
    expect(stderr).not.toContain("hidden");
  });
});

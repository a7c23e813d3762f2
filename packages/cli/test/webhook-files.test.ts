/** `webhook verify`, `sign` and `send`: bodies in files and on stdin. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { signWebhookSync, verifyWebhookSync } from "@loyalty-cards/webhook-verify";
import { describe, expect, it } from "vitest";
import { createFolder } from "./run-command.ts";
import { listen, parseLines, run, secret, startReceiver } from "./webhook-terminal.ts";

const env = { LOYALTY_SIGNING_SECRET: secret };
const body = '{"id":"evt_1","type":"ping","createdAt":"2026-01-01T00:00:00.000Z"}';
const timestamp = 1_767_225_600;
const signature = signWebhookSync({ rawBody: body, secret, timestamp });
const at = ["--at", "2026-01-01T00:00:05Z"];

const verify = (stdin: string | Uint8Array, header: string, ...args: string[]) =>
  run(["webhook", "verify", "--body", "-", "--signature", header, ...args], { env, stdin });

describe("webhook verify", () => {
  it("verifies a body of a file, or of stdin, at the time of its arrival", async () => {
    const cwd = createFolder();
    writeFileSync(join(cwd, "body.json"), body);
    const fromFile = await run(
      ["webhook", "verify", "--body", "body.json", "--signature", signature, ...at],
      { env, cwd },
    );
    expect([fromFile.code, fromFile.stdout]).toEqual([
      0,
      "✓ verified  ping evt_1, signed at 2026-01-01T00:00:00.000Z\n",
    ]);
    const { code, stdout } = await verify(
      body,
      `Service-Signature: ${signature}`,
      "--at",
      "1767225605",
      "--json",
    );
    expect([code, parseLines(stdout)]).toEqual([
      0,
      [
        {
          verified: true,
          event: { id: "evt_1", type: "ping", createdAt: "2026-01-01T00:00:00.000Z" },
          signedAt: "2026-01-01T00:00:00.000Z",
          isKnown: true,
        },
      ],
    ]);
  });

  it("says when the data differs from the contract", async () => {
    const other = '{"id":"evt_1","type":"balance.changed","createdAt":"2026-01-01T00:00:00.000Z","data":{}}';
    const { code, stdout } = await verify(
      other,
      signWebhookSync({ rawBody: other, secret, timestamp }),
      ...at,
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining("not in this version's contract")]);
  });

  it.each<[string, string | Uint8Array, string, string[], string, RegExp]>([
    ["an added line break", `${body}\n`, signature, at, "mismatch", /without the line break at the end/],
    [
      "a lost line break",
      body,
      signWebhookSync({ rawBody: `${body}\n`, secret, timestamp }),
      at,
      "mismatch",
      /with a line break at the end/,
    ],
    [
      "CRLF instead of LF",
      body.replaceAll(",", ",\r\n"),
      signWebhookSync({ rawBody: body.replaceAll(",", ",\n"), secret, timestamp }),
      at,
      "mismatch",
      /with LF as line breaks/,
    ],
    [
      "LF instead of CRLF",
      body.replaceAll(",", ",\n"),
      signWebhookSync({ rawBody: body.replaceAll(",", ",\r\n"), secret, timestamp }),
      at,
      "mismatch",
      /with CRLF as line breaks/,
    ],
    ["a byte order mark", `\uFEFF${body}`, signature, at, "mismatch", /byte order mark/],
    ["formatted JSON", JSON.stringify(JSON.parse(body), null, 2), signature, at, "mismatch", /compact form/],
    [
      "another secret",
      body,
      signWebhookSync({ rawBody: body, secret: "whsec_2", timestamp }),
      at,
      "mismatch",
      /Compare the secret/,
    ],
    [
      "bytes that are not text",
      Uint8Array.of(0xff, 0x00, 0xfe),
      signature,
      at,
      "mismatch",
      /Compare the secret/,
    ],
    [
      "an old signature",
      body,
      signature,
      ["--at", "1767229200"],
      "stale",
      /1 h before.*Apart from that, it verifies/,
    ],
    [
      "a signature of the future",
      body,
      signature,
      ["--at", "1767222000"],
      "future",
      /1 h after 2025-12-31T23:00:00\.000Z/,
    ],
    [
      "an old signature of another body",
      "{}",
      signature,
      ["--at", "1767229200"],
      "stale",
      /Apart from that: mismatch/,
    ],
    ["an empty header", body, "", at, "missing-signature", /Pass the value of the header/],
    ["a cut header", body, signature.slice(0, -1), at, "malformed-signature", /in quotes, once/],
    [
      "a signed text that is no event",
      "[]",
      signWebhookSync({ rawBody: "[]", secret, timestamp }),
      at,
      "invalid-payload",
      /not an event/,
    ],
  ])("exits with 1 and explains %s", async (_name, captured, header, args, reason, text) => {
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
    expect((await verify(body, signature, "--at", "1767226200", "--tolerance", "600")).code).toBe(0);
  });

  it.each([
    ["neither a recording nor --body", [], /either a recording or --body/],
    ["both", ["file.json", "--body", "-"], /either a recording or --body/],
    ["a missing body", ["--body", "nowhere.json"], /"nowhere\.json" cannot be read: ENOENT/],
    ["a missing recording", ["nowhere.json"], /nowhere\.json" cannot be read: ENOENT/],
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
    expect([code, verifyWebhookSync({ rawBody: body, signature: value, secret }).id]).toEqual([0, "evt_1"]);
  });

  it("signs bytes at a time", async () => {
    const stdin = Uint8Array.of(0, 255, 10);
    const { stdout } = await run(["webhook", "sign", "--body", "-", ...at, "--json"], { env, stdin });
    const value = signWebhookSync({ rawBody: stdin, secret, timestamp: timestamp + 5 });
    expect(parseLines(stdout)).toEqual([{ header: "Service-Signature", value }]);
  });
});

describe("webhook send", () => {
  it("signs a file and sends it byte for byte", async () => {
    const cwd = createFolder();
    const text = `{ "id": "evt_7",\r\n "type": "card.added", "createdAt": "x", "data": 12e1 }\n`;
    writeFileSync(join(cwd, "event.json"), text);
    const received: { body: string; type: unknown }[] = [];
    const url = await listen(async (request, response) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const rawBody = Buffer.concat(chunks);
      verifyWebhookSync({ rawBody, signature: request.headers["service-signature"], secret });
      received.push({ body: rawBody.toString(), type: request.headers["service-event"] });
      response.writeHead(204).end();
    });
    const { code, stdout } = await run(["webhook", "send", "event.json", "--to", url], { env, cwd });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ 204 .* card\.added evt_7\n$/)]);
    expect(received).toEqual([{ body: text, type: "card.added" }]);
  });

  it("expects a rejection of an expired signature", async () => {
    const { env: both } = await startReceiver();
    const { code, stdout } = await run(["webhook", "send", "-", ...at, "--json"], { env: both, stdin: body });
    expect([code, parseLines(stdout)]).toEqual([
      0,
      [expect.objectContaining({ expected: "4xx", status: 401 })],
    ]);
  });

  it.each([
    ["a number", "5"],
    ["null", "null"],
    ["an object that cannot be text", '{"toString":1}'],
    ["a list", '["ping"]'],
  ])("exits with 2, and sends nothing, when the type of the event is %s", async (_name, type) => {
    const { env, accepted } = await startReceiver();
    const cwd = createFolder();
    writeFileSync(
      join(cwd, "e.json"),
      `{"id":"evt_1","type":${type},"createdAt":"2026-01-01T00:00:00.000Z"}`,
    );
    const { code, stdout, stderr } = await run(["webhook", "send", "e.json"], { env, cwd });
    expect([code, stdout, stderr]).toEqual([
      2,
      "",
      'loyalty-cards: The member type of "e.json" must be a text, such as "ping": correct the event.\n',
    ]);
    expect(accepted).toEqual([]);
  });

  it.each([
    ["an id that is not text", '{"id":{"toString":1},"type":"ping"}'],
    ["a type with an unpaired surrogate", '{"id":"1","type":"\\ud800"}'],
  ])("sends %s", async (_name, body) => {
    const { env } = await startReceiver();
    const cwd = createFolder();
    writeFileSync(join(cwd, "e.json"), body);
    const { stdout } = await run(["webhook", "send", "e.json", "--json"], { env, cwd });
    expect(JSON.parse(stdout)).toMatchObject({ expected: "2xx", status: 400 });
  });

  it("exits with 1 when the receiver rejects a body that is no event", async () => {
    const { env: both } = await startReceiver();
    const { code, stdout } = await run(["webhook", "send", "-", "--json"], { env: both, stdin: "no JSON" });
    expect([code, parseLines(stdout)]).toEqual([
      1,
      [expect.objectContaining({ type: "unknown", status: 400 })],
    ]);
  });
});

/**
 * Small functions that several packages bundle: bounded bodies, hosts, formats, SQLSTATEs, names of
 * options, one line of a response, timers.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { BoundedBuffer, readBounded, toChunks } from "../bounded-body.ts";
import { formatDuration, toPrintable } from "../format.ts";
import { canForwardTo, formatAddress, isLoopback, isPrivate } from "../hostnames.ts";
import { type OptionNames, requireKnownNames } from "../known-options.ts";
import { hasCode } from "../postgres/client.ts";
import { toLine } from "../response-text.ts";
import { startBackgroundTimer } from "../timers.ts";

const bytes = (length: number, value = 1) => new Uint8Array(length).fill(value);

describe("BoundedBuffer", () => {
  it("returns a body of one chunk without a copy", () => {
    const chunk = bytes(10);
    const buffer = new BoundedBuffer(10);
    expect(buffer.add(chunk)).toBe(true);
    expect(buffer.bytes()).toBe(chunk);
  });
  it("keeps no chunk after the first one, so that many small ones take no more memory", () => {
    const buffer = new BoundedBuffer(1_000);
    const chunk = bytes(1);
    const first = bytes(1);
    buffer.add(first);
    for (let index = 1; index < 1_000; index++) buffer.add(chunk);
    expect(buffer.bytes().buffer).not.toBe(chunk.buffer);
    expect(buffer.bytes().buffer.byteLength).toBe(1_000);
  });

  it("allocates at most twice what arrived", () => {
    const buffer = new BoundedBuffer(1_000_000);
    buffer.add(bytes(100));
    buffer.add(bytes(1));
    expect(buffer.bytes().buffer.byteLength).toBeLessThanOrEqual(202);
  });
});

describe("readBounded", () => {
  it("cancels a web stream as soon as the limit is passed", async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(64)),
      cancel() {
        cancelled = true;
      },
    });
    expect(await readBounded(toChunks(endless), 1000)).toBeUndefined();
    expect(cancelled).toBe(true);
  });
  it("does not wait for a stream that never finishes its cancellation", async () => {
    const stuck = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(64)),
      cancel: () => new Promise(() => {}),
    });
    expect(await readBounded(toChunks(stuck), 10)).toBeUndefined();
  });
  it("reads an empty stream as an empty body", async () => {
    expect(await readBounded(toChunks(new Blob([]).stream()), 10)).toHaveLength(0);
  });
  it("rejects with the error of the source", async () => {
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("connection reset")),
    });
    await expect(readBounded(toChunks(broken), 10)).rejects.toThrow("connection reset");
  });
});

describe("isLoopback and isPrivate", () => {
  const hostname = (host: string) => new URL(`http://${host}/`).hostname;
  it.each([
    ["localhost", true, true],
    ["shop.localhost", true, true],
    ["LOCALHOST.", true, true],
    ["127.0.0.1", true, true],
    ["127.9.9.9", true, true],
    ["[::1]", true, true],
    ["[::ffff:127.0.0.1]", true, true],
    ["0.0.0.0", false, true],
    ["10.0.0.1", false, true],
    ["[::ffff:10.0.0.1]", false, true],
    ["169.254.169.254", false, true],
    ["224.0.0.1", false, true],
    ["255.255.255.255", false, true],
    ["223.255.255.255", false, false],
    ["[64:ff9b::808:808]", false, true],
    ["[64:ff9c::808:808]", false, false],
    ["[fe80::1]", false, true],
    ["printer", false, true],
    ["shop.local", false, true],
    ["8.8.8.8", false, false],
    ["[2001:db8::1]", false, false],
    ["127.0.0.1.example.com", false, false],
    ["localhost.example.com", false, false],
  ])("classifies %s", (host, loopback, isInternal) => {
    expect([isLoopback(hostname(host)), isPrivate(hostname(host))]).toEqual([loopback, isInternal]);
  });

  it.each([
    ["http://localhost:3000/webhooks", true],
    ["http://host.docker.internal:3000", true],
    ["http://web:3000", true],
    ["http://192.168.1.5", true],
    ["http://[fd00::1]", true],
    ["https://shop.example.com", true],
    ["http://shop.example.com", false],
    ["ftp://web", false],
  ])("lets development tools deliver to %s: %s", (address, isAllowed) => {
    expect(canForwardTo(new URL(address))).toBe(isAllowed);
  });
});

describe("formatAddress", () => {
  it.each([
    ["http://localhost:3000/webhooks", ":3000/webhooks"],
    ["https://127.0.0.1/webhooks", "/webhooks"],
    ["http://localhost", ""],
    ["https://localhost.run/hooks", "localhost.run/hooks"],
    ["http://127.0.0.10:3000/x", "127.0.0.10:3000/x"],
    ["https://shop.example.com/hooks", "shop.example.com/hooks"],
  ])("formats %s as %j", (url, formatted) => {
    expect(formatAddress(url)).toBe(formatted);
  });
});

describe("formats", () => {
  it("keeps text on one line of at most 100 characters", () => {
    expect(toPrintable(`evt\n\u2028${"x".repeat(200)}`)).toBe(`evt\ufffd\ufffd${"x".repeat(95)}`);
  });
});

it.each([
  [0, "0 s"],
  [-1, "0 s"],
  [59_000, "59 s"],
  [59_001, "1 min"],
  [311_000, "5 min 11 s"],
  [3_600_000, "1 h"],
  [3_605_000, "1 h"],
  [9_000_000, "2 h 30 min"],
  [86_399_000, "23 h 59 min"],
  [90_000_000, "1 d 1 h"],
])("formats %d ms as %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

describe("hasCode", () => {
  const adapterError = { name: "DriverAdapterError", cause: { originalCode: "40001" } };
  it.each<[client: string, error: unknown, expected: boolean]>([
    ["pg", { code: "40001" }, true],
    ["Drizzle", new Error("Failed query", { cause: { code: "40001" } }), true],
    ["Prisma 6, a statement", { code: "P2010", meta: { code: "40001" } }, true],
    ["Prisma 7, a statement", { code: "P2010", meta: { driverAdapterError: adapterError } }, true],
    ["Prisma 7, COMMIT", adapterError, true],
    ["Prisma, its own transaction", { code: "P2034" }, true],
    ["a rollback whose COMMIT got no response", { code: "08007", cause: { code: "40001" } }, false],
    ["an error of PL/pgSQL", { code: "P0001", cause: { code: "40001" } }, false],
    ["a socket", { code: "EPIPE", cause: { code: "ECONNRESET" } }, false],
    ["no error", "40001", false],
  ])("finds the SQLSTATE of %s", (_client, error, expected) => {
    expect(hasCode(error, "40001", "40P01")).toBe(expected);
  });

  it("ends with an error that is its own cause", () => {
    const error: { cause?: unknown } = {};
    error.cause = error;
    expect(hasCode(error, "40001")).toBe(false);
  });
});

it("has option names that the compiler checks both ways, also of a union", () => {
  type Options = { first?: 1 } | { second?: 2 };
  const names = { first: true, second: true } satisfies OptionNames<Options>;
  // @ts-expect-error -- second is missing
  ({ first: true }) satisfies OptionNames<Options>;
  // @ts-expect-error -- third is no option
  ({ ...names, third: true }) satisfies OptionNames<Options>;
  const check = (options: object) => () => requireKnownNames("create", options, names);
  expect(check({ first: undefined, second: 2 })).not.toThrow();
  expect(check({ scond: 2 })).toThrow(
    'create has no option "scond". Did you mean second? Its options are first, second.',
  );
  expect(check({ toString: 1 })).toThrow(TypeError);
  for (const other of [[], new Map(), Promise.resolve({ first: 1 }), new AbortController().signal])
    expect(check(other)).toThrow("create takes an object: { first, second }.");
  const module = Object.assign(Object.create(null), { first: 1, [Symbol.toStringTag]: "Module" });
  for (const options of [module, Object.create({ first: 1 }), new Proxy({ first: 1 }, {})])
    expect(check(options)).not.toThrow();
});

describe("toLine, one line of a response for a terminal", () => {
  it.each([
    ["text", "signature\n  mismatch ", "signature mismatch"],
    [
      "the message of JSON",
      '{"statusCode":401,"error":"Unauthorized","message":"x"}',
      "Unauthorized",
    ],
    ["a nested message", '{"error":{"code":7,"message":"no such user"}}', "no such user"],
    ["problem details", '{"title":"Conflict","detail":"in progress"}', "in progress"],
    ["JSON without an explanation", '{"ok":false}', '{"ok":false}'],
    [
      "an error page of Express",
      "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Cannot read &#39;id&#39; &amp; &quot;x&quot;</pre></body></html>",
      "Cannot read 'id' & \"x\"",
    ],
    [
      "styles and scripts",
      "<style>a{}</style><h1>502&nbsp;Bad Gateway</h1><script>1</script>",
      "502 Bad Gateway",
    ],
    ["a script that is cut", '<h1>502</h1><script>let a = "', "502"],
    ["HTML that is cut within a tag", '<p>Not found</p><a href="/', "Not found"],
    ["text that is no entity", "<b>&nothing; &#9999999; &#x41;</b>", "&nothing; &#9999999; A"],
    ["nothing", "", ""],
  ])("shows %s", (_name, body, line) => {
    expect(toLine(body)).toBe(line);
  });

  it("shows of an error page where the error was thrown", () => {
    const stack = [
      "TypeError: Cannot read properties of undefined (reading &#39;balance&#39;)",
      "at handler (/srv/shop/src/webhooks.ts:21:14)",
      "at Layer.handleRequest (/srv/shop/node_modules/router/lib/layer.js:152:17)",
    ];
    const page = `<title>Error</title><pre>${stack.join("<br> &nbsp; &nbsp;")}</pre>`;
    expect(toLine(page)).toContain(" at handler (/srv/shop/src/webhooks.ts:21:14) ");
  });

  it("ends what is cut with an ellipsis", () => {
    expect(toLine("x".repeat(200))).toBe("x".repeat(200));
    expect(toLine("x".repeat(201))).toBe(`${"x".repeat(199)}…`);
    expect(toLine("abcdef", 3)).toBe("ab…");
  });
});

describe("the timers that fake timers of a test do not stop", () => {
  it("are those of Node.js, also when a test runner has replaced them before the import", async () => {
    const never = () => 0;
    vi.stubGlobal("setTimeout", never);
    vi.stubGlobal("setImmediate", never);
    const path = "../timers.ts?after-fakes";
    const { setRealImmediate, setRealTimeout } = await import(path).finally(() =>
      vi.unstubAllGlobals(),
    );
    await new Promise((resolve) => setRealImmediate(resolve));
    await new Promise((resolve) => setRealTimeout(resolve, 0));
    expect([setRealImmediate, setRealTimeout]).not.toContain(never);
  });

  it("keep no process running in the background, and can be cancelled", async () => {
    const path = fileURLToPath(new URL("../timers.ts", import.meta.url));
    const program = `import { startBackgroundTimer } from ${JSON.stringify(path)};
      startBackgroundTimer(3_600_000, () => {});`;
    const loader = ["--conditions=@loyalty-cards/source", "--import", "tsx", "--input-type=module"];
    await promisify(execFile)(process.execPath, [...loader, "--eval", program], {
      timeout: 30_000,
    });

    const woken: string[] = [];
    await new Promise<void>((resolve) => {
      startBackgroundTimer(0, () => woken.push("cancelled"))();
      startBackgroundTimer(1, resolve);
    });
    expect(woken).toEqual([]);
  });
});

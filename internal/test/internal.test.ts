/** The functions that several packages bundle. */
import { execFile } from "node:child_process";
import { createConnection } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { configurationError } from "../../packages/issuing-client/src/errors.ts";
import { BoundedBuffer, readBounded, toChunks } from "../bounded-body.ts";
import { withSafeMessage } from "../errors.ts";
import { formatDuration, toPrintable } from "../format.ts";
import { canForwardTo, isLoopback, isPrivate } from "../hostnames.ts";
import { type OptionNames, requireKnownNames } from "../known-options.ts";
import { hasCode } from "../postgres/client.ts";
import { describeError, formatErrorKind, notify } from "../reporting.ts";
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

describe("notify", () => {
  it("passes on what the listener throws", () => {
    const errors: unknown[] = [];
    notify(
      () => {
        throw new RangeError("no");
      },
      1,
      (error) => errors.push(error),
    );
    expect(errors.map(formatErrorKind)).toEqual(["RangeError"]);
  });
  it("passes on what the listener's promise rejects with, also of another library's promise", async () => {
    class ForeignPromise {
      // biome-ignore lint/suspicious/noThenProperty: it stands for the promise of another library
      then(_resolve: unknown, reject: (error: unknown) => void): void {
        reject("late");
      }
    }
    for (const rejecting of [() => new ForeignPromise(), () => Promise.reject("late")]) {
      const rejected = new Promise((resolve) => notify(rejecting, 1, resolve));
      expect(await rejected).toBe("late");
    }
  });
  it("does nothing without a listener", () => {
    expect(notify(undefined, 1)).toBeUndefined();
  });
});

describe("describeError", () => {
  it("names an error that is its own cause once", () => {
    const error = new Error("It failed.");
    error.cause = error;
    expect(describeError(error)).not.toContain("cause");
  });

  /** An error as a dependency throws it: the frames are those of a stack that Node prints. */
  function createError(name: string, message: string, frames: string[], more: object = {}): Error {
    const error = Object.assign(new Error(message), more);
    Object.defineProperty(error, "name", { value: name });
    error.stack = [`${name}: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
    return error;
  }
  const folder = process.cwd();
  const internalFrame =
    "process.processTicksAndRejections (node:internal/process/task_queues:95:5)";

  it("contains the kind and the place, and nothing of the message", () => {
    const error = new TypeError("ada@example.com\n    at secret (/home/ada.ts:1:1)");
    expect(describeError(error)).toMatch(
      /^TypeError at internal\/test\/internal\.test\.ts:\d+:\d+$/,
    );
  });

  it.each([
    [`async handler (${folder}/src/events.ts:12:5)`, "src/events.ts:12:5"],
    [`async file://${folder}/src/na%C3%AFve%20name.ts:12:5`, "src/naïve name.ts:12:5"],
    [`${folder}/src/events.ts:12:5`, "src/events.ts:12:5"],
    [`POST (${folder}/app/(shop)/route.ts:3:1)`, "app/(shop)/route.ts:3:1"],
    ["new Shop (/srv/of-ada/shop/events.ts:7:9)", "…/shop/events.ts:7:9"],
    ["handler (C:\\Users\\ada\\shop\\events.ts:7:9)", "…/shop/events.ts:7:9"],
    ["handler (file:///C:/Users/ada/shop/events.ts:7:9)", "…/shop/events.ts:7:9"],
    ["POST (webpack-internal:///(rsc)/./shop/events.ts:12:3)", "…/shop/events.ts:12:3"],
    ["fetch (worker.js:12:3)", "worker.js:12:3"],
  ])(
    "names the first frame of the application, without the folders of the machine: %s",
    (frame, place) => {
      const frames = [
        `${folder}/node_modules/pg-pool/index.js:45:11`,
        "C:\\shop\\node_modules\\pg\\client.js:5:5",
        "execute (/srv/loyalty-cards/packages/issuing-outbox/dist/postgres.js:12:5)",
        internalFrame,
        "new Promise (<anonymous>)",
        frame,
        `main (${folder}/src/main.ts:1:1)`,
      ];
      const error = createError("error", 'relation "members" does not exist', frames, {
        code: "42P01",
      });
      expect(describeError(error)).toBe(`error 42P01 (undefined table) at ${place}`);
    },
  );

  it("names the place in Next's edge runtime, where each function of `process` throws", () => {
    const frame = "POST (webpack-internal:///(rsc)/./shop/events.ts:12:3)";
    const error = createError("RangeError", "x", [frame]);
    const throwing = () => {
      throw new Error("not supported in the Edge Runtime");
    };
    vi.stubGlobal("process", { cwd: throwing, getBuiltinModule: throwing });
    const described = describeError(error);
    vi.unstubAllGlobals();
    expect(described).toBe("RangeError at …/shop/events.ts:12:3");
  });

  it("names the code, what failed, and the server, of an error without frames of the application", async () => {
    const connect = (host: string, options = {}) =>
      new Promise<unknown>((resolve) => {
        createConnection({ port: 1, host, ...options }).once("error", resolve);
      });
    expect(describeError(await connect("127.0.0.1"))).toBe(
      "Error connect ECONNREFUSED 127.0.0.1:1",
    );
    const addresses = { autoSelectFamily: true, lookup: lookUpTwo };
    expect(describeError(await connect("database.example", addresses))).toBe(
      "AggregateError connect ECONNREFUSED 127.0.0.1:1",
    );
    const socket = { path: "/srv/of-ada/shop.sock" };
    expect(describeError(await connect("", socket))).toBe("Error connect ENOENT");
  });

  it("names the causes, and takes the place from the first one that has a frame of the application", () => {
    const cause = createError(
      "Error",
      "connect 10.0.0.7",
      [`connect (${folder}/src/database.ts:4:2)`],
      {
        code: "ETIMEDOUT",
      },
    );
    const error = createError("PrismaError", "ada@example.com", [internalFrame], {
      code: "P1001",
      cause,
    });
    expect(describeError(error)).toBe(
      "PrismaError P1001 at src/database.ts:4:2 (cause: Error ETIMEDOUT)",
    );
    Object.assign(cause, { cause: error });
    expect(describeError(error)).toContain("(cause: Error ETIMEDOUT)"); // although the causes form a circle
  });

  it.each(["+48600100200", "600100200", "ada@example.com", "two words", "", null, { a: 1 }])(
    "does not take %j for a code",
    (code) => {
      expect(describeError(createError("Error", "x", [], { code, syscall: code }))).toBe("Error");
    },
  );

  it("quotes the messages of our own errors, and others only when asked to", () => {
    const own = withSafeMessage(new TypeError("The transaction is missing.\u001b[2J\nnext"));
    expect(describeError(own)).toMatch(
      /^TypeError at \S+: The transaction is missing\.\ufffd\[2J\ufffdnext$/,
    );
    const issuing = configurationError("Set LOYALTY_API_KEY.");
    expect(describeError(issuing)).toMatch(
      /^IssuingError configuration at \S+: Set LOYALTY_API_KEY\./,
    );
    const foreign = new Error("ada@example.com", { cause: new Error("\u009b31m") });
    expect(describeError(foreign)).not.toContain("ada");
    expect(describeError(foreign, { logErrorMessages: true })).toMatch(
      /^Error at \S+: ada@example\.com \(cause: Error: \ufffd31m\)$/,
    );
    expect(describeError("text", { logErrorMessages: true })).toBe("a thrown string: text");
  });

  it("prints nothing that controls a terminal, and no name that is not one", () => {
    const error = createError("\u001b]0;ada\u0007", "x", [
      "handler (/app/\u001b[2J/\u001b[1m.ts:1:1)",
    ]);
    expect(describeError(error)).toBe("Error at …/\ufffd[2J/\ufffd[1m.ts:1:1");
  });

  it("describes values that are no errors, and errors that cannot be read", () => {
    const unreadable = new Proxy(new Error("x"), {
      get() {
        throw new Error("trap");
      },
    });
    expect(["text", null, undefined].map((value) => describeError(value))).toEqual([
      "a thrown string",
      "a thrown null",
      "a thrown undefined",
    ]);
    expect(describeError(unreadable)).toBe("an unreadable error");
    expect(formatErrorKind(unreadable)).toBe("an unreadable error");
  });
});

/** A host name with two addresses. */
const lookUpTwo = (_host: string, _options: object, done: (error: null, found: object[]) => void) =>
  done(null, [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);

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

  it("ends what is cut with an ellipsis", () => {
    expect(toLine("x".repeat(80))).toBe("x".repeat(80));
    expect(toLine("x".repeat(81))).toBe(`${"x".repeat(79)}…`);
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

/** What logs say of an error, and the calls of listeners. */
import { createConnection } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { configurationError } from "../../packages/issuing-client/src/errors.ts";
import { withSafeMessage } from "../errors.ts";
import { createLog, describeError, formatErrorKind, notify } from "../reporting.ts";

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

it("writes a line to the console when log throws, such as a method without its object", () => {
  const logger = {
    lines: [] as string[],
    error(line: string): void {
      this.lines.push(line);
    },
  };
  const { error: methodAlone } = logger;
  const written: unknown[] = [];
  const console = vi.spyOn(globalThis.console, "error");
  console.mockImplementation((line) => {
    written.push(line);
    throw new Error("no console");
  });
  createLog("issuing-outbox", methodAlone)("1 entries wait.");
  console.mockRestore();
  expect(written).toEqual([
    "issuing-outbox: 1 entries wait. (log threw TypeError; it must not throw.)",
  ]);
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
      /^TypeError at internal\/test\/reporting\.test\.ts:\d+:\d+$/,
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
    // what a program reads from its environment
    const asText = { logErrorMessages: "false" as never };
    expect(describeError(foreign, asText)).not.toContain("ada");
    expect(describeError("text", asText)).toBe("a thrown string");
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

/** Invalid options and arguments: rejected before a request, with a message that names the option and the fix. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createIssuingClient,
  defineTemplate,
  type IssuingClientOptions,
  isIssuingError,
} from "../src/index.ts";
import { readEnvironment, requireServer } from "../src/options.ts";
import { card, json, scripted, signUp } from "./scripted.ts";

function getRejection(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isIssuingError(error)) {
      expect(error).toMatchObject({
        code: "configuration",
        outcome: "not-sent",
        attempts: 0,
        retryable: false,
      });
      return error.message;
    }
    throw error;
  }
  throw new Error("not rejected");
}

const good = { baseUrl: "https://cards.test", apiKey: "k" };
const make = (options: object) => () => createIssuingClient({ ...good, ...options } as IssuingClientOptions);

describe("the options of createIssuingClient", () => {
  it.each([
    [
      "a missing apiKey",
      { apiKey: undefined },
      /apiKey is missing or empty\. Set the environment variable LOYALTY_API_KEY/,
    ],
    ["an empty apiKey", { apiKey: "" }, /apiKey is missing/],
    ["a blank apiKey", { apiKey: "  " }, /apiKey is missing/],
    ["a line break in apiKey", { apiKey: "secret\n" }, /line break from a file/],
    ["an apiKey beyond ASCII", { apiKey: "klucz-ą" }, /a header cannot contain/],
    [
      "a missing baseUrl",
      { baseUrl: undefined },
      /baseUrl is missing or empty\. Set the environment variable LOYALTY_URL/,
    ],
    [
      "an empty baseUrl",
      { baseUrl: "" },
      /baseUrl is missing or empty\. Set the environment variable LOYALTY_URL/,
    ],
    ["a baseUrl of null", { baseUrl: null }, /baseUrl is missing or empty/],
    ["an apiKey of null", { apiKey: null }, /apiKey is missing or empty/],
    ["a baseUrl that is not a URL", { baseUrl: "https://" }, /baseUrl is not a URL/],
    ...["cards.example.com", "cards.example.com:443", "192.0.2.1:443", "cards"].map(
      (baseUrl): [string, object, RegExp] => [
        `a baseUrl without scheme, ${baseUrl}`,
        { baseUrl },
        /baseUrl has no scheme: write https:\/\/ before the host, as in "https:\/\/cards\.example\.com"/,
      ],
    ),
    ...["localhost:4115", "LOCALHOST:4115", "127.0.0.1:4115", "[::1]:4115"].map(
      (baseUrl): [string, object, RegExp] => [
        `the loopback address ${baseUrl} without scheme`,
        { baseUrl },
        new RegExp(
          `baseUrl has no scheme: write "http://${baseUrl.replace(/[[\]]/g, "\\$&").toLowerCase()}"`,
        ),
      ],
    ),
    ["a baseUrl with another scheme", { baseUrl: "ftp://cards.example.com" }, /must begin with https/],
    ["an http:// baseUrl of another machine", { baseUrl: "http://cards.example.com" }, /allowInsecureHttp/],
    [
      "an http:// baseUrl that looks like a loopback address",
      { baseUrl: "http://127.0.0.1.evil.test" },
      /allowInsecureHttp/,
    ],
    ["credentials in baseUrl", { baseUrl: "https://user:pass@cards.test" }, /address only/],
    ["a query in baseUrl", { baseUrl: "https://cards.test/?a=1" }, /address only/],
    ["a baseUrl that ends in /api/v1", { baseUrl: "https://cards.test/api/v1/" }, /the client appends it/],
    ["a timeoutMs of 0", { timeoutMs: 0 }, /timeoutMs must be/],
    ["a timeoutMs that is NaN", { timeoutMs: Number("x") }, /timeoutMs must be/],
    ["a negative deadlineMs", { deadlineMs: -1 }, /deadlineMs must be/],
    ["a fractional maxRetries", { maxRetries: 0.5 }, /maxRetries must be a whole number/],
    ["a negative maxRetries", { maxRetries: -1 }, /maxRetries/],
    ...["", " ", "my shop ", "shop\nx-admin: 1", "sklep-ą", 7, null].map(
      (userAgent): [string, object, RegExp] => [
        `a userAgent of ${JSON.stringify(userAgent)}`,
        { userAgent },
        /userAgent must be visible ASCII, such as "my-shop\/1\.2"/,
      ],
    ),
    [
      "a header of the body",
      { headers: { "content-type": "text/plain" } },
      /headers must not have "content-type"/,
    ],
    ["a fetch that is not a function", { fetch: "fetch" }, /fetch must be a function/],
    ["an onEvent that is not a function", { onEvent: {} }, /onEvent must be a function/],
  ])("rejects %s with the reason", (_name, options, message) => {
    expect(getRejection(make(options))).toMatch(message);
  });

  it("rejects an API key as baseUrl without printing it", () => {
    for (const baseUrl of ["hunter2", "hunter2:1", "user:hunter2@localhost", "hunter2.live.eyJ"])
      expect(getRejection(make({ baseUrl }))).not.toContain("hunter2");
  });

  it("rejects options that are not an object", () => {
    for (const options of [null, "https://cards.test", 7]) {
      expect(getRejection(() => createIssuingClient(options as unknown as IssuingClientOptions))).toMatch(
        /needs options/,
      );
    }
  });

  it("rejects missing options when the environment variables are missing too", () => {
    expect(getRejection(() => createIssuingClient())).toMatch(/LOYALTY_URL/);
    vi.stubEnv("LOYALTY_URL", "https://cards.test");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(getRejection(() => createIssuingClient())).toMatch(/LOYALTY_API_KEY/);
  });

  // G22
  it("rejects a browser page and a web worker, but not jsdom on Node.js, Deno, Workers and edge runtimes", () => {
    expect(getRejection(() => requireServer({ document: {} }))).toMatch(/must not run in a browser/);
    requireServer({ document: {}, process: { versions: { node: "20" } } });
    requireServer({});
    expect(
      getRejection(() =>
        requireServer({ WorkerNavigator: class {}, navigator: { userAgent: "Mozilla/5.0" } }),
      ),
    ).toMatch(/browser/);
    requireServer({ WorkerNavigator: class {}, navigator: { userAgent: "Cloudflare-Workers" } });
    requireServer({ WorkerNavigator: class {}, Deno: {} });
    requireServer({ WorkerNavigator: class {}, EdgeRuntime: "vercel" });
  });

  it("rejects an invalid API key without printing it", () => {
    for (const apiKey of ["hunter2\n", "hunter2 ", "hunter2\u0000"]) {
      expect(getRejection(make({ apiKey }))).not.toContain("hunter2");
    }
  });
});

it.each(["http://localhost:4010", "http://127.0.0.1", "http://[::1]:4010", "http://cards.localhost"])(
  "accepts http:// for this machine: %s",
  (baseUrl) => expect(make({ baseUrl })).not.toThrow(),
);

it("accepts http:// for any host with allowInsecureHttp", () => {
  expect(make({ baseUrl: "http://cards.example.com", allowInsecureHttp: true })).not.toThrow();
});

it("accepts a baseUrl that is a URL, has a path or ends with slashes", async () => {
  for (const baseUrl of [new URL("https://cards.test/shop"), "https://cards.test/shop///"]) {
    const { client, requests } = scripted([json(card)], { baseUrl });
    await client.getCard("card_1");
    expect(requests[0]?.url).toBe("https://cards.test/shop/api/v1/passes/card_1");
  }
});

describe("environment variables", () => {
  it("provide the address and the key, and an option overrides them", async () => {
    vi.stubEnv("LOYALTY_URL", "https://from-environment.test/");
    vi.stubEnv("LOYALTY_API_KEY", "key_from_environment");
    onTestFinished(() => void vi.unstubAllEnvs());
    const requests: Request[] = [];
    const fetch = async (url: unknown, init?: RequestInit) => {
      requests.push(new Request(url as string, init));
      return json(card);
    };
    await createIssuingClient({ fetch }).getCard("c");
    await createIssuingClient({ fetch, baseUrl: undefined, apiKey: undefined }).getCard("c");
    await createIssuingClient({ fetch, baseUrl: "https://cards.test", apiKey: "k" }).getCard("c");
    expect(requests.map(({ url, headers }) => [url, headers.get("authorization")])).toEqual([
      ["https://from-environment.test/api/v1/passes/c", "Bearer key_from_environment"],
      ["https://from-environment.test/api/v1/passes/c", "Bearer key_from_environment"],
      ["https://cards.test/api/v1/passes/c", "Bearer k"],
    ]);
  });

  it("are undefined in a runtime without process, or where reading them is not allowed", () => {
    expect(readEnvironment("LOYALTY_URL", {})).toBe(undefined);
    expect(readEnvironment("LOYALTY_URL", { process: {} })).toBe(undefined);
    const process = {
      get env(): never {
        throw new Error("NotCapable");
      },
    };
    expect(readEnvironment("LOYALTY_URL", { process })).toBe(undefined);
    expect(readEnvironment("LOYALTY_URL", { process: { env: { LOYALTY_URL: "u" } } })).toBe("u");
  });
});

it("treats null as absent options and as an absent query", async () => {
  const calls: ((client: ReturnType<typeof createIssuingClient>) => Promise<unknown>)[] = [
    (c) => c.getCard("c", null as never),
    (c) => c.listOperations("c", null as never, null as never),
    (c) => c.getConsent("c", null as never),
    (c) => c.setConsent("c", { marketing: true }, null as never),
    (c) => c.getCard("c", { signal: null, headers: null, onResponse: null, timeoutMs: null } as never),
  ];
  const body = { ...card, items: [], marketingConsent: true };
  for (const call of calls) {
    const { client, requests } = scripted([json(body)]);
    await call(client);
    expect(requests).toHaveLength(1);
  }
});

describe("the arguments of a method", () => {
  const calls: [string, (client: ReturnType<typeof createIssuingClient>) => Promise<unknown>, RegExp][] = [
    ["an empty template id", (c) => c.issueCard("", signUp, { userId: 1 }), /template id is missing/],
    ["a template id that is a dot segment", (c) => c.issueCard("..", signUp, { userId: 1 }), /not an id/],
    ["no template", (c) => c.issueCard(undefined as never, signUp, { userId: 1 }), /template id is missing/],
    [
      "no request",
      (c) => c.issueCard("t", undefined as never, { userId: 1 }),
      /request\.customer is missing/,
    ],
    ["no customer", (c) => c.issueCard("t", {} as never, { userId: 1 }), /request\.customer is missing/],
    ...[
      ["no consents", undefined],
      ["consents of null", null],
      ["consents without privacy", { marketing: {} }],
      ["a privacy consent of null", { privacy: null }],
      ["a privacy consent that is a boolean", { privacy: true }],
      ["a privacy consent without a version", { privacy: {} }],
      ["a privacy version that is undefined", { privacy: { version: undefined } }],
      ["an empty privacy version", { privacy: { version: "" } }],
      ["a blank privacy version", { privacy: { version: " \n" } }],
      ["a privacy version that is a number", { privacy: { version: 2026 } }],
    ].map(([name, consents]): (typeof calls)[number] => [
      String(name),
      (c) => c.issueCard("t", { customer: { phone: "hunter2", consents } } as never, { userId: 1 }),
      /customer\.consents\.privacy\.version is missing or blank: set the version of the privacy text/,
    ]),
    ...[true, false, null, "2026-01"].map((marketing): (typeof calls)[number] => [
      `a marketing consent of ${marketing}`,
      (c) =>
        c.issueCard("t", { customer: { consents: { privacy: { version: "1" }, marketing } } } as never, {
          userId: 1,
        }),
      /customer\.consents\.marketing must be an object.* leave it out when the user did not opt in/,
    ]),
    ...(["phone", "email", "name"] as const).map((contact): (typeof calls)[number] => [
      `a ${contact} that is a number`,
      (c) =>
        c.issueCard("t", { customer: { ...signUp.customer, [contact]: 48600100200 } } as never, {
          userId: 1,
        }),
      new RegExp(`customer\\.${contact} must be a string, not a number: keep it as text`),
    ]),
    [
      "a phone that is an object",
      (c) => c.issueCard("t", { customer: { ...signUp.customer, phone: {} } } as never, { userId: 1 }),
      /customer\.phone must be a string, not an object: keep it as text/,
    ],
    ["an empty card id", (c) => c.getCard(""), /card id is missing/],
    ["a blank card id", (c) => c.listOperations(" "), /card id is missing/],
    ["a card id that is not a string", (c) => c.getConsent(7 as never), /card id is missing/],
    ["a card id that is a dot segment", (c) => c.setConsent(".", { marketing: true }), /not an id/],
    ["options that are not an object", (c) => c.getCard("c", "x" as never), /options must be an object/],
    [
      "options of issueCard that are not an object",
      (c) => c.issueCard("t", signUp, 7 as never),
      /options must be an object/,
    ],
    ["a query that is not an object", (c) => c.listOperations("c", 20 as never), /query must be an object/],
    ["an invalid signal", (c) => c.getCard("c", { signal: {} as never }), /signal must be an AbortSignal/],
    [
      "a card id that is a promise",
      (c) => c.getCard(Promise.resolve("c") as never),
      /card id is a promise: await it/,
    ],
    ["a limit of 0", (c) => c.listOperations("c", { limit: 0 }), /limit must be/],
    ["a limit of 1.5", (c) => c.listOperations("c", { limit: 1.5 }), /limit must be/],
    [
      "a consent that is not a boolean",
      (c) => c.setConsent("c", { marketing: "yes" as never }),
      /marketing must be/,
    ],
    ["an empty user id", (c) => c.issueCard("t", signUp, { userId: "" }), /userId must be/],
    ["a user id of NaN", (c) => c.issueCard("t", signUp, { userId: Number.NaN }), /userId must be/],
    ["a user id that lost digits", (c) => c.issueCard("t", signUp, { userId: 2 ** 53 }), /userId must be/],
    ["an empty key", (c) => c.issueCard("t", signUp, { idempotencyKey: "" }), /idempotencyKey must be/],
    [
      "a key with a line break",
      (c) => c.issueCard("t", signUp, { idempotencyKey: "a\nb" }),
      /idempotencyKey must be/,
    ],
    [
      "a key that is too long",
      (c) => c.issueCard("t", signUp, { idempotencyKey: "a".repeat(256) }),
      /1 to 255/,
    ],
    [
      "a user id and a key",
      (c) => c.issueCard("t", signUp, { userId: 1, idempotencyKey: "a" } as never),
      /not both/,
    ],
    [
      "a first attempt that is not a date",
      (c) => c.issueCard("t", signUp, { userId: 1, firstAttemptAt: new Date("x") }),
      /firstAttemptAt/,
    ],
    [
      "a field value of NaN",
      (c) => c.issueCard("t", { ...signUp, fieldValues: { points: Number.NaN } }, { userId: 1 }),
      /fieldValues\.points must be/,
    ],
    [
      "a field value that is an object",
      (c) => c.issueCard("t", { ...signUp, fieldValues: { at: new Date() as never } }, { userId: 1 }),
      /fieldValues\.at/,
    ],
    [
      "field values that are not a plain object",
      (c) => c.issueCard("t", { ...signUp, fieldValues: new Map() as never }, { userId: 1 }),
      /plain object/,
    ],
    [
      "field values that are a list",
      (c) => c.issueCard("t", { ...signUp, fieldValues: ["a"] as never }, { userId: 1 }),
      /plain object/,
    ],
    [
      "a customer with a bigint",
      (c) => c.issueCard("t", { customer: { ...signUp.customer, n: 1n } as never }, { userId: 1 }),
      /customer cannot be serialized as JSON/,
    ],
    ["a card id that is not well-formed text", (c) => c.getCard("a\ud800"), /not well-formed/],
    ...[
      ...["Content-Type", "content-length", "content-encoding", "expect", "host", "proxy-authorization"],
      ...["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"],
    ].map((name): (typeof calls)[number] => [
      `the header ${name}`,
      (c) => c.getCard("c", { headers: { [name]: "1" } }),
      new RegExp(`headers must not have "${name}"`),
    ]),
    [
      "a header that cannot be sent",
      (c) => c.getCard("c", { headers: { "x-a": "b\nhunter2" } }),
      /headers has an invalid entry, "x-a"/,
    ],
    ["a timeoutMs of 0", (c) => c.getCard("c", { timeoutMs: 0 }), /timeoutMs/],
  ];

  // G20
  it.each(calls)("rejects %s before a request is sent", async (_name, call, message) => {
    const { client, requests } = scripted([]);
    const error = await call(client).then(
      () => undefined,
      (thrown) => thrown,
    );
    expect(
      getRejection(() => {
        throw error;
      }),
    ).toMatch(message);
    expect(error.message).not.toContain("hunter2");
    expect(requests).toEqual([]);
  });

  it.each([
    [
      "fails",
      () => {
        throw new Error("vault: hunter2");
      },
      /apiKey function failed/,
    ],
    ["returns undefined", () => undefined as never, /apiKey is missing/],
    ["returns a line break", () => "hunter2\n", /line break/],
  ])(
    "rejects a call when the apiKey function %s, without printing its error",
    async (_name, apiKey, message) => {
      const { client, requests } = scripted([], { apiKey });
      const error = await client.getCard("c").catch((thrown) => thrown);
      expect(
        getRejection(() => {
          throw error;
        }),
      ).toMatch(message);
      expect(`${error.message}${error.cause}`).not.toContain("hunter2");
      expect(requests).toEqual([]);
    },
  );
});

it("rejects an empty id in defineTemplate, and freezes a template", () => {
  expect(getRejection(() => defineTemplate(""))).toMatch(/template id/);
  expect(Object.isFrozen(defineTemplate("tpl_club"))).toBe(true);
});

it.each(["a/b", "a?b=c", "a#b", "%2e%2e", "ą", "a b", "..%2f"])(
  "encodes the card id %s as one path segment",
  async (id) => {
    const { client, requests } = scripted([json(card)]);
    await client.getCard(id);
    expect(requests[0]?.url).toBe(`https://cards.test/api/v1/passes/${encodeURIComponent(id)}`);
  },
);

it("sends the headers of the client with every call, and those of a call take precedence", async () => {
  const { client, requests } = scripted([json({}, 404), json({}, 404), json({}, 404)], {
    headers: { "Accept-Language": "pl", accept: "text/html" },
  });
  await client.getCard("card_1").catch(() => {});
  await client.getCard("card_1", { headers: { "accept-language": "de" } }).catch(() => {});
  await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
  expect(requests.map(({ headers }) => headers.get("accept-language"))).toEqual(["pl", "de", "pl"]);
  expect(requests[0]?.headers.get("accept")).toContain("application/json");
});

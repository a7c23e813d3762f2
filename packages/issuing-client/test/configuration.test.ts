/**
 * Invalid options and arguments: rejected before a request, with a message that names the option
 * and the fix. And the names of the package in a browser.
 */
import { readFileSync } from "node:fs";
import {
  anySuccess,
  card,
  catchIssuingError,
  json,
  scripted,
  signUp,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createIssuingClient,
  defineTemplate,
  type IssuingClient,
  type IssuingClientOptions,
  type IssuingError,
} from "../src/index.ts";
import { isNode, readEnvironment } from "../src/runtime.ts";

/**
 * Expects an error that says that nothing was sent.
 * @returns its message.
 */
function readRejection(error: unknown): string {
  const notSent = { code: "configuration", outcome: "not-sent", attempts: 0 };
  // A function that failed, such as a request to a vault, may work in a later call.
  const retryable = /apiKey function (failed|returned)/.test(String(error));
  expect(error).toMatchObject({ ...notSent, retryable });
  return (error as IssuingError).message;
}

function getRejection(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return readRejection(error);
  }
  throw new Error("not rejected");
}

type Call = (client: IssuingClient) => Promise<unknown>;
const good = { baseUrl: "https://cards.test", apiKey: "k" };
const make = (options: object) => () =>
  createIssuingClient({ ...good, ...options } as IssuingClientOptions);

const invalidOptions: Record<string, [message: RegExp, values: unknown[]][]> = {
  apiKey: [
    [
      /contains a space, a line break .* Pass the key alone, without "Bearer "/,
      ["secret\n", "Bearer secret", "klucz-ą"],
    ],
    [
      /^apiKey \(LOYALTY_API_KEY\) begins with a quote, which .* did not remove\. Remove it\./,
      ['"secret"', "'secret'"],
    ],
    [
      /^apiKey \(LOYALTY_API_KEY\) is an address: is it swapped with baseUrl \(LOYALTY_URL\)\?/,
      ["https://cards.example.com"],
    ],
    [
      /^apiKey \(LOYALTY_API_KEY\) is a signing secret, which verifies webhooks\. Pass a Website key/,
      ["whsec_hunter2"],
    ],
    [
      /^apiKey \(LOYALTY_API_KEY\) is (the text "undefined"|the text of a promise: await it|a promise: await it)\. Set the/,
      [`${undefined}`, `${Promise.resolve()}`, Promise.resolve("hunter2")],
    ],
    [/^apiKey \(LOYALTY_API_KEY\) is of type number, not text\. Set the/, [7]],
  ],
  baseUrl: [
    [
      /^baseUrl \(LOYALTY_URL\) has no scheme: write https:\/\/ before the host, or http:\/\//,
      [
        "cards.example.com",
        "192.0.2.1:443",
        "cards",
        "localhost:4115",
        "LOCALHOST:4115",
        "[::1]:4115",
      ],
    ],
    [
      /^baseUrl \(LOYALTY_URL\) is the text ("undefined"|of a promise: await it): is the variable set\?/,
      [`${undefined}`, Promise.resolve("https://cards.test")],
    ],
    [
      /^baseUrl \(LOYALTY_URL\) begins with a quote/,
      ['"https://cards.example.com"', "'https://cards.test'"],
    ],
    [/allowInsecureHttp/, ["http://cards.example.com", "http://127.0.0.1.evil.test"]],
    [
      /^baseUrl \(LOYALTY_URL\) must be an address such as "https:\/\/cards\.example\.com", without user/,
      [
        "https://",
        "ftp://cards.example.com",
        "https://user:pass@cards.test",
        "https://cards.test/?a=1",
      ],
    ],
    [/the client appends it/, ["https://cards.test/api/v1/"]],
  ],
  idempotencyNamespace: [
    [
      /^idempotencyNamespace \(LOYALTY_IDEMPOTENCY_NAMESPACE\) is the text (of a promise: await it|"null")\. Set it, or leave it out/,
      [`${Promise.resolve()}`, `${null}`],
    ],
  ],
  timeoutMs: [[/timeoutMs must be/, [0, Number("x")]]],
  deadlineMs: [[/deadlineMs must be/, [-1]]],
  maxRetries: [[/maxRetries must be a whole number/, [0.5, -1]]],
  userAgent: [[/headers has an invalid entry, "user-agent"/, ["shop\nx-admin: 1", "sklep-ą"]]],
  headers: [
    [/headers must not have "content-type"/, [{ "content-type": "text/plain" }]],
    [
      /^headers must be a plain object\. Of others, pass Object\.fromEntries\(headers\)\./,
      [new Headers({ "x-a": "1" }), new Map([["x-a", "1"]]), [["x-a", "1"]], "x-a: 1"],
    ],
  ],
  fetch: [[/fetch must be a function/, ["fetch"]]],
  onEvent: [[/onEvent must be a function/, [{}]]],
};

describe("the options of createIssuingClient", () => {
  it.each(
    Object.entries(invalidOptions).flatMap(([name, cases]) =>
      cases.flatMap(([message, values]) => values.map((value) => [name, value, message] as const)),
    ),
  )("reject %s %o with the reason", (name, value, message) => {
    expect(getRejection(make({ [name]: value }))).toMatch(message);
  });

  it("are not printed when they contain an API key", () => {
    for (const baseUrl of ["hunter2", "hunter2:1", "user:hunter2@localhost", "hunter2.live.eyJ"])
      expect(getRejection(make({ baseUrl }))).not.toContain("hunter2");
    for (const broken of ["\n", "\r", "\0", " ", "\u0085", "ł"])
      expect(getRejection(make({ apiKey: `hunter2${broken}x` }))).not.toContain("hunter2");
  });

  it.each([
    [
      "baseUrl",
      /baseUrl is missing or empty\. Set the environment variable LOYALTY_URL before the client is created/,
    ],
    ["apiKey", /apiKey is missing or empty\. Set the environment variable LOYALTY_API_KEY/],
  ])(
    "report a missing %s at the first call, so that a module can create a client without it",
    async (name, message) => {
      for (const value of [undefined, null, "", "  "]) {
        const { client, requests } = scripted([], { [name]: value });
        const { api } = client;
        for (const call of [
          client.getCard("card_1"),
          client.issueCard("t", signUp, { userId: 1 }),
          api.GET("/passes/{id}", { params: { path: { id: "card_1" } } }),
        ])
          expect(readRejection(await catchIssuingError(call))).toMatch(message);
        expect(requests).toEqual([]);
      }
      expect(() => createIssuingClient()).not.toThrow();
    },
  );

  it("select node:http on Node.js only", () => {
    const process = { versions: { node: "20" } };
    expect(isNode({ process })).toBe(true);
    const userAgent = "Cloudflare-Workers";
    const others = [{ Deno: {} }, { EdgeRuntime: "vercel" }, { navigator: { userAgent } }];
    for (const other of [{}, { process: { versions: { ...process.versions, bun: "1" } } }])
      expect(isNode(other)).toBe(false);
    for (const other of others) expect(isNode({ process, ...other })).toBe(false);
  });
});

it("accepts http:// for this machine, and for any host with allowInsecureHttp", () => {
  for (const host of ["localhost:4010", "127.0.0.1", "[::1]:4010", "cards.localhost"])
    expect(make({ baseUrl: `http://${host}` })).not.toThrow();
  const baseUrl = "http://cards.example.com";
  expect(make({ baseUrl, allowInsecureHttp: true })).not.toThrow();
  for (const allowInsecureHttp of ["false", 1])
    expect(getRejection(make({ baseUrl, allowInsecureHttp }))).toContain("use https://");
});

it("accepts a baseUrl that is a URL, has a path or ends with slashes", async () => {
  for (const baseUrl of [new URL("https://cards.test/shop"), "https://cards.test/shop///"]) {
    const { client, requests } = scripted([json(card)], { baseUrl });
    await client.getCard("card_1");
    expect(requests[0]?.url).toBe("https://cards.test/shop/api/v1/passes/card_1");
  }
});

it("takes null for userAgent as none", async () => {
  const { client, requests } = scripted([json(card)], { userAgent: null as never });
  await client.getCard("card_1");
  expect(requests[0]?.headers.get("user-agent")).toMatch(/^loyalty-cards\/\S+$/);
});

it("takes null for fetch as no fetch", async () => {
  const client = createIssuingClient({
    baseUrl: "http://127.0.0.1:1",
    apiKey: "k",
    fetch: null as never,
    maxRetries: 0,
  });
  await expect(client.getCard("c")).rejects.toMatchObject({ code: "network", outcome: "not-sent" });
});

it.each([
  undefined,
  { data: card },
  { status: 201, headers: {}, data: card },
  { status: 201, headers: {}, text: async () => JSON.stringify(card) },
  { status: 201, text: async () => JSON.stringify(card) },
  json(card, 201),
])(
  "says that the option fetch returned no Response, as that of axios does, or a read one: %j",
  async (response) => {
    if (response instanceof Response) await response.text();
    const client = createIssuingClient({ ...good, fetch: async () => response as never });
    await expect(client.issueCard("t", signUp, { userId: 1 })).rejects.toMatchObject({
      code: "invalid-response",
      outcome: "unknown", // the request may have been sent
      attempts: 1,
      message: expect.stringMatching(/^The option fetch returned no Response, or one whose body/),
    });
  },
);

it("rejects an option that createIssuingClient does not have, and names the nearest one", () => {
  expect(getRejection(make({ baseURL: "https://cards.test" }))).toMatch(
    /^createIssuingClient has no option "baseURL"\. Did you mean baseUrl\? Its options are /,
  );
  for (const options of ["https://cards.test", null])
    expect(getRejection(() => createIssuingClient(options as never))).toMatch(
      /^createIssuingClient takes an object: \{ timeoutMs, .*baseUrl, apiKey, /,
    );
  expect(getRejection(make({ testing: { clok: {} } }))).toMatch(
    /^testing of createIssuingClient has no option "clok"\. Did you mean clock\?/,
  );
});

it("says which environment to use where a test environment hides the classes of fetch", async () => {
  onTestFinished(() => void vi.unstubAllGlobals());
  vi.stubGlobal("Headers", undefined);
  vi.stubGlobal("Request", undefined);
  const client = createIssuingClient(good); // needs none of them
  const fix = /use the node environment\. In Jest, begin the test file with .* node \*\//;
  expect(getRejection(() => client.api)).toMatch(fix);
  const call = client.getCard("c", { onResponse: () => {} });
  expect(readRejection(await catchIssuingError(call))).toMatch(fix);
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
    for (const options of [{}, { baseUrl: undefined, apiKey: undefined }, good])
      await createIssuingClient({ fetch, ...options }).getCard("c");
    expect(requests.map(({ url, headers }) => [url, headers.get("authorization")])).toEqual([
      ["https://from-environment.test/api/v1/passes/c", "Bearer key_from_environment"],
      ["https://from-environment.test/api/v1/passes/c", "Bearer key_from_environment"],
      ["https://cards.test/api/v1/passes/c", "Bearer k"],
    ]);
  });

  it("are undefined in a runtime without process, or where reading them is not allowed", () => {
    const notAllowed = {
      get env(): never {
        throw new Error("NotCapable");
      },
    };
    for (const runtime of [{}, { process: {} }, { process: notAllowed }])
      expect(readEnvironment("LOYALTY_URL", runtime)).toBe(undefined);
    expect(readEnvironment("LOYALTY_URL", { process: { env: { LOYALTY_URL: "u" } } })).toBe("u");
  });
});

it("treats null as absent options and as an absent query", async () => {
  const calls: Call[] = [
    (c) => c.getCard("c", null as never),
    (c) => c.listOperations("c", null as never, null as never),
    (c) => c.getConsent("c", null as never),
    (c) => c.setConsent("c", { marketing: true }, null as never),
    (c) =>
      c.getCard("c", { signal: null, headers: null, onResponse: null, timeoutMs: null } as never),
  ];
  for (const call of calls) {
    const { client, requests } = scripted([json(anySuccess)]);
    await call(client);
    expect(requests).toHaveLength(1);
  }
});

const issue =
  (request: object, template: unknown = "t", options: unknown = { userId: 1 }): Call =>
  (client) =>
    client.issueCard(template as string, request as typeof signUp, options as { userId: number });
const issueTo = (changes: object) => issue({ customer: { ...signUp.customer, ...changes } });
const issueWith = (fieldValues: unknown) => issue({ ...signUp, fieldValues });
const withHeader =
  (name: string, value: string): Call =>
  (client) =>
    client.getCard("c", { headers: { [name]: value } });

const noVersion =
  /customer\.consents\.privacy\.version is missing or blank: set the version of the privacy text/;
const invalidArguments: [message: RegExp, calls: Call[]][] = [
  [
    /template id is missing or empty\. Is LOYALTY_TEMPLATE_ID set\? Copy the id from the service's console/,
    [
      issue(signUp, ""),
      issue(signUp, null),
      (c) => c.issueCard(undefined as never, signUp, { userId: 1 }),
    ],
  ],
  [/not an id/, [issue(signUp, ".."), (c) => c.setConsent(".", { marketing: true })]],
  [
    /request\.customer is missing: .* The request is of type Undefined\./,
    [issue(undefined as never)],
  ],
  [
    /^request\.customer is missing: \{ customer: \{[^.]*\}\.( See |$)/,
    [{}, { customer: null }, { customer: "hunter2" }].map((request) => issue(request)),
  ],
  [
    noVersion,
    [
      undefined,
      null,
      { marketing: {} },
      ...[null, true, {}].map((privacy) => ({ privacy })),
      ...[undefined, "", " \n"].map((version) => ({ privacy: { version } })),
    ].map((consents) => issueTo({ phone: "hunter2", consents })),
  ],
  [
    /customer\.consents has no member "markting"\. Did you mean marketing\?/,
    [issueTo({ consents: { privacy: { version: "1" }, markting: { version: "1" } } })],
  ],
  [
    /customer\.consents\.privacy\.version is (of type number, not text|the text "undefined"): set the version of the privacy text/,
    [2026, `${undefined}`].map((version) => issueTo({ consents: { privacy: { version } } })),
  ],
  [
    /customer\.consents\.marketing\.version is (of type number, not text|the text "null"|missing or blank): .* or leave it out/,
    [2026, `${null}`, null].map((version) =>
      issueTo({ consents: { privacy: { version: "1" }, marketing: { version } } }),
    ),
  ],
  [
    /The version of setConsent is the text "undefined": .* or leave it out/,
    [(c) => c.setConsent("c", { marketing: true, version: `${undefined}` })],
  ],
  [
    /The template id must be a string; it is of type object\. Pass its id, or what defineTemplate returns/,
    [issue(signUp, { templateId: "t" }), issue(signUp, {})],
  ],
  [/The card id is the text "undefined"\. Pass card\.id/, [(c) => c.getCard(`${undefined}`)]],
  [
    /The card id is missing or empty\. Pass card\.id\. Await the call that returns the card/,
    [(c) => c.getCard((Promise.resolve(card) as never as { id: string }).id)],
  ],
  [
    /customer has no member "(nmae|e-mail|Phone|consent)"\. Did you mean (name|email|phone|consents)\?/,
    ["nmae", "e-mail", "Phone", "consent"].map((name) => issueTo({ [name]: "hunter2" })),
  ],
  [
    /^customer has no member "(passwordHash|id)"\. Its members are phone, email, name, consents\./,
    [issueTo({ passwordHash: "hunter2" }), issueTo({ id: undefined })],
  ],
  [
    /customer\.consents\.marketing must be an object.* leave it out when the user did not opt in/,
    [true, false, null, "2026-01", [], new Map(), new Date(), () => {}].map((marketing) =>
      issueTo({ consents: { privacy: { version: "1" }, marketing } }),
    ),
  ],
  [
    /customer\.consents\.marketing is a promise: await it/,
    [issueTo({ consents: { privacy: { version: "1" }, marketing: Promise.resolve() } })],
  ],
  [
    /customer\.phone must be a string; it is of type number: keep it as text, such as "\+48600100200"\./,
    [issueTo({ phone: 48600100200 })],
  ],
  [
    /customer\.(email|name) must be a string; it is of type number: keep it as text\./,
    ["email", "name"].map((contact) => issueTo({ [contact]: 48600100200 })),
  ],
  [
    /customer\.phone must be a string; it is of type object: keep it as text/,
    [issueTo({ phone: {} })],
  ],
  [
    /customer\.consents\.(privacy|marketing) has no member "versoin"\. Did you mean version\?/,
    ["privacy", "marketing"].map((consent) =>
      issueTo({
        consents: { privacy: { version: "1" }, [consent]: { version: "1", versoin: "2" } },
      }),
    ),
  ],
  [/^fieldValues\.points must be/, [issueWith({ points: Number.NaN })]],
  [
    /^A value of fieldValues must be a string or a finite number\./,
    ["hunter2@example.com", "name\nhunter2", "+48 hunter2"].map((key) =>
      issueWith({ [key]: null }),
    ),
  ],
  [/fieldValues\.at/, [issueWith({ at: new Date() })]],
  [/plain object/, [issueWith(new Map()), issueWith(["a"]), issueWith(null)]],
  [
    /card id is missing/,
    [(c) => c.getCard(""), (c) => c.listOperations(" "), (c) => c.getConsent(null as never)],
  ],
  [/card id is a promise: await it/, [(c) => c.getCard(Promise.resolve("c") as never)]],
  [/card id must be a string; it is of type number/, [(c) => c.getConsent(7 as never)]],
  [/card id must be a string; it is of type object/, [(c) => c.getCard(anySuccess as never)]],
  [
    /issueCard takes the template, then the request, .* The first argument is of type object, the second of type string\./,
    [(c) => c.issueCard(signUp as never, "tpl_1" as never, { userId: 1 })],
  ],
  [
    /issueCard takes the template, .* The first argument is of type object, the second of type undefined\./,
    [
      (c) =>
        c.issueCard(
          { template: "tpl_1", request: signUp } as never,
          undefined as never,
          {} as never,
        ),
    ],
  ],
  [
    /The request of issueCard has no member "fields": pass it in fieldValues, as in issueCard/,
    [issue({ ...signUp, fields: {} })],
  ],
  [
    /The request of issueCard has no member "custmer"\. Did you mean customer\?/,
    [issue({ custmer: {} })],
  ],
  [
    /The request of issueCard has no member "points"\. Its members are customer, fieldValues\./,
    [issue({ points: 1 })],
  ],
  [
    /has no member "(userId|deadlineMs)": pass it in the third argument, as in issueCard\("tpl_…", /,
    [issue({ ...signUp, userId: 1 }), issue({ ...signUp, deadlineMs: 5 })],
  ],
  [
    /The request of issueCard has no member "(name|consents)": pass it in customer, as in issueCard/,
    [issue({ name: "hunter2" }), issue({ consents: {} })],
  ],
  [/The request of issueCard is a promise: await it\./, [issue(Promise.resolve(signUp))]],
  [
    /request\.customer is missing: .* The request is of type (FormData|Null|Array)\./,
    [issue(new FormData()), issue(null as never), issue([])],
  ],
  [
    /issueCard takes the template, .* The first argument is of type string, the second of type object\./,
    [(c) => c.issueCard("tpl_1", { userId: 1 } as never, signUp as never)],
  ],
  [
    /issueCard takes the template, .* The first argument is of type object, the second of type object\./,
    [(c) => c.issueCard(signUp as never, { userId: 1 } as never, {} as never)],
  ],
  [
    /issueCard takes the template, .* The first argument is of type string, the second of type string\./,
    [(c) => c.issueCard("tpl_1", "hunter2" as never, { userId: 1 })],
  ],
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53].map((limit): [RegExp, Call[]] => [
    new RegExp(`limit must be a whole number, 1 or more; it is ${limit}\\.`),
    [(c) => c.listOperations("c", { limit })],
  ]),
  [
    /limit must be a whole number, 1 or more; it is of type (string|null)\./,
    ["1&hunter2", "1#", "1\r\nx: y", "10", null].map(
      (limit) => (c) => c.listOperations("c", { limit: limit as never }),
    ),
  ],
  [
    /The query of listOperations takes an object: \{ limit \}\./,
    [(c) => c.listOperations("c", 5 as never), (c) => c.listOperations("c", "10" as never)],
  ],
  [
    /^(getCard|listOperations) takes an object: \{ timeoutMs, /,
    [
      (c) => c.getCard("c", 5_000 as never),
      (c) => c.listOperations("c", {}, true as never),
      (c) => c.getCard("c", new AbortController().signal as never),
      (c) => c.getCard("c", Promise.resolve({ deadlineMs: 1 }) as never),
    ],
  ],
  [
    /signal must be an AbortSignal: pass controller\.signal\./,
    [new AbortController(), false, 0, ""].map(
      (signal): Call =>
        (c) =>
          c.getCard("c", { signal: signal as never }),
    ),
  ],
  [
    /The query of listOperations has no member "signal"\. Its members are limit\./,
    [(c) => c.listOperations("c", { signal: new AbortController().signal } as object)],
  ],
  [
    /setConsent needs marketing, true or false, and optionally version, a string: /,
    [undefined, null, true, {}, { version: "1" }, { marketing: "yes" }, { marketing: null }].map(
      (change) => (c) => c.setConsent("c", change as never),
    ),
  ],
  [
    /setConsent needs marketing/,
    [(c) => c.setConsent("c", { marketing: true, version: 1 as never })],
  ],
  [
    /The change of setConsent takes an object: \{ marketing, version \}\./,
    [(c) => c.setConsent({ marketing: true } as never, "c" as never)],
  ],
  [
    /The card id must be a string; it is of type object\. Pass card\.id\./,
    [(c) => c.getCard({ id: "c" } as never)],
  ],
  [
    /The change of setConsent has no member "marketting"\. Did you mean marketing\?/,
    [(c) => c.setConsent("c", { marketting: true } as never)],
  ],
  [
    /^(getCard|setConsent) has no option "timeout"\. Did you mean timeoutMs\? Its options are timeoutMs, /,
    [
      (c) => c.getCard("c", { timeout: 1 } as object),
      (c) => c.setConsent("c", { marketing: true }, { timeout: undefined } as object),
    ],
  ],
  [
    /^issueCard has no option "userID"\. Did you mean userId\?/,
    [issue(signUp, "t", { userID: 42 }), issue(signUp, "t", { userID: 42, userId: 42 })],
  ],
  [/not well-formed/, [(c) => c.getCard("a\ud800")]],
  [/timeoutMs/, [(c) => c.getCard("c", { timeoutMs: 0 })]],
  ...[
    "Content-Type",
    "content-length",
    "content-encoding",
    "expect",
    "host",
    "proxy-authorization",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
  ].map((name): [RegExp, Call[]] => [
    new RegExp(`headers must not have "${name}"`),
    [withHeader(name, "1")],
  ]),
  [
    /headers must not have "authorization": use the option apiKey\./,
    [withHeader("Authorization", "Bearer hunter2")],
  ],
  [
    /headers must not have "idempotency-key" in issueCard: use the option idempotencyKey\./,
    [issue(signUp, "t", { userId: 1, headers: { "Idempotency-Key": "hunter2" } })],
  ],
  [
    /headers must be a plain object/,
    [(c) => c.getCard("c", { headers: new Headers({ "x-a": "hunter2" }) as never })],
  ],
  [
    /headers has no value for "x-a": leave it out\./,
    [withHeader("x-a", undefined as never), withHeader("x-a", null as never)],
  ],
  [
    /headers has an invalid entry, "x-a"/,
    [withHeader("x-a", "b\nhunter2"), withHeader("x-a", "b\u0001")],
  ],
];

describe("the arguments of a method", () => {
  async function expectRejection(
    call: Call,
    message: RegExp,
    options: Partial<IssuingClientOptions> = {},
  ) {
    const { client, requests } = scripted([], options);
    const error = await catchIssuingError(call(client));
    expect(readRejection(error)).toMatch(message);
    expect(`${error.message}${error.cause}`).not.toContain("hunter2");
    expect(requests).toEqual([]);
  }

  // G20
  it.each(
    invalidArguments.flatMap(([message, calls]) =>
      calls.map((call, index) => [message, index, call] as const),
    ),
  )("are rejected before a request is sent: %s, %i", async (message, _index, call) => {
    await expectRejection(call, message);
  });

  it.each<[string, () => string, RegExp]>([
    [
      "fails",
      () => {
        throw new Error("vault: hunter2");
      },
      /apiKey function failed/,
    ],
    ["returns undefined", () => undefined as never, /apiKey function returned nothing/],
    ["returns an empty text", () => "", /apiKey function returned nothing/],
    ["returns a blank text", () => " ", /apiKey function returned nothing/],
    ["returns a number", () => 7 as never, /apiKey function returned a key that is of type number/],
    [
      "returns a line break",
      () => "hunter2\n",
      /apiKey function returned a key that contains a space, a line break/,
    ],
  ])("include the result of the apiKey function, which %s", async (_name, apiKey, message) => {
    await expectRejection((client) => client.getCard("c"), message, { apiKey });
  });
});

it("rejects an empty id in defineTemplate, and freezes a template", () => {
  expect(getRejection(() => defineTemplate(""))).toMatch(/template id/);
  expect(Object.isFrozen(defineTemplate("tpl_club"))).toBe(true);
});

it("sends the headers of the client with every call, and those of a call take precedence", async () => {
  const headers = { "Accept-Language": "pl", accept: "text/html" };
  const { client, requests } = scripted([json(card), json(card), json(card)], { headers });
  await client.getCard("card_1");
  await client.getCard("card_1", { headers: { "accept-language": "de" } });
  await client.api.GET("/passes/{id}", { params: { path: { id: "card_1" } } });
  expect(requests.map(({ headers }) => headers.get("accept-language"))).toEqual(["pl", "de", "pl"]);
  expect(requests.some(({ headers }) => headers.has("content-type"))).toBe(false);
  const own = "application/json, application/problem+json";
  expect(requests.map(({ headers }) => headers.get("accept"))).toEqual([own, own, "text/html"]);
});

it("sends a header without the space around it, and does not block on one of 100 000 spaces", async () => {
  const { client, requests } = scripted([json(card)]);
  const long = `a${" ".repeat(100_000)}b`;
  await client.getCard("card_1", { headers: { "accept-language": `\n ${long}\t` } });
  expect(requests[0]?.headers.get("accept-language")).toBe(long);
});

// G22
it("exports the same names to a browser, where the import throws an error with the reason", async () => {
  const source = readFileSync(new URL("../src/browser.ts", import.meta.url), "utf8");
  const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name]) => name).sort();
  expect(names).toEqual(Object.keys(await import("../src/index.ts")).sort());
  await expect(import("../src/browser.ts")).rejects.toThrow(
    /must not run in a browser.* @jest-environment node/,
  );
});

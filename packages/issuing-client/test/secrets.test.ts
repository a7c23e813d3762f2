/** What shows does not depend on what is secret: neither the key nor a user's data is told, wherever one looks. */
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CallOptions,
  createIssuingClient,
  defineTemplate,
  type IssuingClient,
  type IssuingClientOptions,
  type IssuingErrorCode,
  isIssuingError,
} from "../src/index.ts";
import { json, type Script, scripted } from "./scripted.ts";

interface Secrets {
  apiKey: string;
  phone: string;
  email: string;
  name: string;
  userId: string;
  /** The value of a header that the caller adds. */
  header: string;
  /** What the service says: about the customer, about itself. */
  said: string;
  /** The value of a header of its answer. */
  answered: string;
  /** What the network's error says. */
  failure: string;
}

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 60,
});
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("__proto__", "Error: \n    at x", "%s %o", "\u001b[31m", '"}', "[object Object]"),
);
const wellFormed = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => `u${text}`);
const secretsOf = fc.record<Secrets>({
  apiKey: visible,
  phone: fc.oneof(text, fc.stringMatching(/^\+\d{5,15}$/)),
  email: fc.oneof(text, fc.emailAddress()),
  name: text,
  userId: fc.oneof(wellFormed, fc.emailAddress()),
  header: visible,
  said: text,
  answered: visible,
  failure: text,
});

const plain: Secrets = {
  apiKey: "key",
  phone: "+48600100200",
  email: "anna@example.com",
  name: "Anna",
  userId: "7",
  header: "h",
  said: "said",
  answered: "a",
  failure: "failed",
};

/** How a call goes wrong, made of the secrets. */
interface Mishap {
  /** What the error says; undefined when none is thrown. */
  code: IssuingErrorCode | undefined;
  script?: (secrets: Secrets) => Script[];
  options?: (secrets: Secrets) => Partial<IssuingClientOptions>;
  call?: (client: IssuingClient, secrets: Secrets, options: CallOptions) => Promise<unknown>;
}

const requestOf = ({ phone, email, name }: Secrets) => ({
  fieldValues: { name, note: phone },
  customer: { phone, email, name, consents: { privacy: { version: `v${name}` } } },
});
const issue = (client: IssuingClient, secrets: Secrets, options: CallOptions) =>
  client.issueCard("tpl_club", requestOf(secrets), { ...options, userId: secrets.userId });

const problem =
  (status: number, contentType = "application/problem+json") =>
  ({ said, answered, email, name }: Secrets): Script[] => [
    json(
      {
        title: said,
        detail: `${email} ${said}`,
        instance: email,
        type: said,
        errors: [said, email, `/customer/${email}`, `/fieldValues/${name}`].map((pointer) => ({
          pointer,
          detail: said,
        })),
        [`x${said}`]: [said],
      },
      status,
      {
        "content-type": contentType,
        "x-served-by": answered,
        "www-authenticate": answered,
      },
    ),
  ];
/** As hostile as a network's error can be: it carries the request, and says so everywhere. */
const networkFailure = (secrets: Secrets): Error => {
  const { failure, apiKey } = secrets;
  const inner = Object.assign(new Error(`${failure} ${apiKey}`), {
    code: `secret ${failure}`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(requestOf(secrets)),
  });
  const outer = new TypeError(`fetch to ${failure} with ${apiKey} failed`, { cause: inner });
  outer.stack = `${failure} ${outer.stack}`;
  return Object.assign(outer, { request: inner, [`x${failure}`]: apiKey });
};
const answer = (body: string, status: number, { answered }: Secrets): Script[] => [
  new Response(body, { status, headers: { "x-served-by": answered } }),
];
const withSchema = (validate: (secrets: Secrets) => unknown): Required<Mishap>["call"] => {
  return (client, secrets, options) => {
    const schema = { "~standard": { version: 1, vendor: "test", validate: () => validate(secrets) } };
    const template = defineTemplate("tpl_club", schema as never);
    return client.issueCard(template, requestOf(secrets) as never, options);
  };
};

const mishaps: Record<string, Mishap> = {
  ...Object.fromEntries(
    (
      [
        [401, "unauthorized"],
        [404, "not-found"],
        [409, "conflict"],
        [418, "rejected"],
        [422, "validation"],
        [429, "rate-limited"],
        [500, "server"],
      ] as const
    ).map(([status, code]) => [`a ${status} that quotes the customer`, { code, script: problem(status) }]),
  ),
  "a 500 with another media type": { code: "server", script: problem(500, "text/plain") },
  "an error page": { code: "server", script: (secrets) => answer(`<p>${secrets.said}`, 502, secrets) },
  "a success that is no JSON": {
    code: "invalid-response",
    script: (secrets) => answer(`<p>${secrets.said}`, 201, secrets),
  },
  "half a card": {
    code: "invalid-response",
    script: ({ said, email }) => [json({ id: 1, said, email }, 201)],
  },
  "a status that there is not": {
    code: "invalid-response",
    script: ({ answered }) => [
      { status: 799, type: "default", headers: new Headers({ a: answered }), body: null } as never,
    ],
  },
  "a redirect": {
    code: "invalid-response",
    script: ({ answered }) => [
      new Response(null, { status: 307, headers: { location: `https://evil.test/${answered}` } }),
    ],
  },
  "a body that breaks off": {
    code: "network",
    script: (secrets) => [
      new Response(new ReadableStream({ start: (stream) => stream.error(networkFailure(secrets)) })),
    ],
  },
  "a network failure": { code: "network", script: (secrets) => [networkFailure(secrets)] },
  "a failure that is a text": {
    code: "network",
    script: ({ failure }) => [
      () => {
        throw failure;
      },
    ],
  },
  "failures, then a refusal": {
    code: "validation",
    options: () => ({ maxRetries: 2 }),
    script: (secrets) => [networkFailure(secrets), ...problem(503)(secrets), ...problem(422)(secrets)],
  },
  "a refused consent": {
    code: "server",
    script: problem(500),
    call: (client, { name }, options) =>
      client.setConsent("card_1", { marketing: true, version: name }, options),
  },
  "a path of its own": {
    code: undefined,
    script: problem(500),
    // What it gives is the answer itself, for the program alone.
    call: async (client, { name, userId, header }) => {
      await client.api.PUT("/passes/{id}/consent", {
        params: { path: { id: `card_${userId}` } }, // a dot alone would be refused
        body: { marketing: true, version: name },
        headers: { "x-tenant": header },
      });
    },
  },
  "a key that cannot be found": {
    code: "configuration",
    options: ({ apiKey, failure }) => ({
      apiKey: () => {
        throw new Error(`no ${apiKey}: ${failure}`);
      },
    }),
  },
  "a key that is found broken": {
    code: "configuration",
    options: ({ apiKey }) => ({ apiKey: () => `${apiKey}\n` }),
  },
  "a header that no request can carry": {
    code: "configuration",
    call: (client, secrets, options) =>
      issue(client, secrets, { ...options, headers: { "x-tenant": `${secrets.header}\nx` } }),
  },
  "an idempotency key with a line break": {
    code: "configuration",
    call: (client, secrets, options) =>
      client.issueCard("tpl_club", requestOf(secrets), { ...options, idempotencyKey: `${secrets.apiKey}\n` }),
  },
  "a field value of a wrong type": {
    code: "configuration",
    call: (client, { name }, options) =>
      client.issueCard("tpl_club", { ...requestOf(plain), fieldValues: { name: [name] as never } }, options),
  },
  "a body that contains itself": {
    code: "configuration",
    call(client, secrets, options) {
      const customer: Record<string, unknown> = { ...requestOf(secrets).customer };
      customer["self"] = customer;
      return client.issueCard("tpl_club", { customer } as never, options);
    },
  },
  "a schema that quotes the value": {
    code: "validation",
    call: withSchema(({ name }) => ({
      issues: [
        { message: `${name} is wrong`, path: ["name"] },
        { message: "wrong", path: [name] },
      ],
    })),
  },
  "a schema that throws": {
    code: "configuration",
    call: withSchema(({ name }) => {
      throw new Error(name);
    }),
  },
  "another body under a key under way": {
    code: "idempotency-mismatch",
    script: () => [() => new Promise<Response>(() => {})],
    async call(client, secrets, options) {
      const first = new AbortController();
      const key = { idempotencyKey: "order-1" };
      const one = client.issueCard("tpl_club", requestOf(secrets), { ...key, signal: first.signal });
      const other = client.issueCard("tpl_other", requestOf(secrets), { ...options, ...key });
      try {
        return await other;
      } finally {
        first.abort();
        await one.catch(() => {});
      }
    },
  },
};

/** Every way in which programs print a value; of an error also its stack and what caused it. */
function surfacesOf(value: unknown): string {
  const parts = [inspect(value, { depth: Number.POSITIVE_INFINITY }), JSON.stringify(value), String(value)];
  if (value instanceof Error) parts.push(String(value.stack), value.message, surfacesOf(value.cause));
  return parts.join("\n");
}

async function shownBy({ code, script, options, call = issue }: Mishap, secrets: Secrets): Promise<string> {
  const { client, events } = scripted(script?.(secrets) ?? [], {
    apiKey: secrets.apiKey,
    maxRetries: 0,
    ...options?.(secrets),
  });
  await undefined; // so that the stack of the first run goes back no further than that of the second
  const ended = await call(client, secrets, { headers: { "x-tenant": secrets.header } }).catch(
    (error: unknown) => error,
  );
  expect(isIssuingError(ended) ? ended.code : ended).toBe(code);
  const told = events.map((event) => ({ ...event, call: 0 })); // calls are numbered on and on
  const shown = [client, client.api, ended, told].map(surfacesOf).join("\n");
  // A hash, which differs with the user and tells nothing of it.
  return shown.replaceAll(/lc1_[\w-]{43}/g, "lc1_…");
}

describe("nothing secret shows in the client, the error or the events after", () => {
  it.each(Object.entries(mishaps))("%s", async (_name, mishap) => {
    await fc.assert(
      fc.asyncProperty(secretsOf, async (secrets) => {
        const shown: string[] = [];
        // One line for both, because stacks name it.
        for (const each of [plain, secrets]) shown.push(await shownBy(mishap, each));
        expect(shown[1]).toBe(shown[0]);
      }),
      { numRuns: 30 },
    );
  });
});

it("a client cannot be made with a key that no header can carry, and does not say which key it was", () => {
  const said = (apiKey: string) => {
    try {
      return surfacesOf(createIssuingClient({ baseUrl: "https://cards.test", apiKey }));
    } catch (error) {
      return surfacesOf(error);
    }
  };
  fc.assert(
    fc.property(visible, fc.constantFrom("\n", "\r", "\0", " ", "\u0085", "ł"), (key, broken) => {
      const [expected, shown] = ["a b", `${key}${broken}x`].map(said);
      expect(expected).toContain("no header can carry");
      expect(shown).toBe(expected);
    }),
  );
});

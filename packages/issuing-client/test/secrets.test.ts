/** Secrets and personal data: what is printed does not depend on them. */

import { inspect } from "node:util";
import { anyCharacter } from "@loyalty-cards/testing/any-character";
import { json, type Script, scripted } from "@loyalty-cards/testing/scripted-client";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type CallOptions,
  type IssuingClient,
  type IssuingClientOptions,
  type IssuingErrorCode,
  isIssuingError,
} from "../src/index.ts";

const plain = {
  apiKey: "key",
  phone: "+48600100200",
  email: "anna@example.com",
  name: "Anna",
  userId: "7",
  header: "h", // of the request, added by the caller
  serviceText: "serviceText", // in the response
  headerValue: "a", // of the response
  failure: "failed", // the message of the network error
};
type Secrets = typeof plain;

const visible = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 60,
});
const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("__proto__", "Error: \n    at x", "%s %o", "\u001b[31m", '"}', "[object Object]"),
);
const wellFormed = fc.string({ unit: "grapheme", minLength: 1 }).map((text) => `u${text}`);
/**
 * Names of members of the request. One case sends the pointer `/customer/EMAIL`, and a message may
 * contain the name of a member. A message does not contain the key of a field that is equal to a
 * value of the customer.
 */
const memberName = /^(?:phone|email|name|note|consents(?:\/.*)?)$/;
const contact = (arbitrary: fc.Arbitrary<string>) =>
  arbitrary.filter((value) => !memberName.test(value));
const randomSecrets = fc.record<Secrets>({
  apiKey: visible.filter((key) => !/^["']/.test(key)), // a key that is still quoted is refused
  phone: contact(fc.oneof(text, fc.stringMatching(/^\+\d{5,15}$/))),
  email: contact(fc.oneof(text, fc.emailAddress())),
  name: contact(text),
  userId: fc.oneof(wellFormed, fc.emailAddress()),
  header: visible,
  serviceText: text,
  headerValue: visible,
  failure: text,
});

/** A call that fails, with the secrets in its request and response. */
interface FailingCall {
  /** The code of the error; undefined when none is thrown. */
  code: IssuingErrorCode | undefined;
  script?: (secrets: Secrets) => Script[];
  options?: (secrets: Secrets) => Partial<IssuingClientOptions>;
  call?: (client: IssuingClient, secrets: Secrets, options: CallOptions) => Promise<unknown>;
}

const toRequest = ({ phone, email, name }: Secrets) => ({
  fieldValues: { name, note: phone },
  customer: { phone, email, name, consents: { privacy: { version: `v${name}` } } },
});
const issue = (client: IssuingClient, secrets: Secrets, options: CallOptions) =>
  client.issueCard("tpl_club", toRequest(secrets), { ...options, userId: secrets.userId });

const problem =
  (status: number, contentType = "application/problem+json") =>
  ({ serviceText, headerValue, email, name }: Secrets): Script[] => [
    json(
      {
        title: serviceText,
        detail: `${email} ${serviceText}.`, // not blank: a blank detail gives another message
        instance: email,
        type: serviceText,
        errors: [serviceText, email, `/customer/${email}`, `/fieldValues/${name}`].map(
          (pointer) => ({
            pointer,
            detail: serviceText,
          }),
        ),
        [`x${serviceText}`]: [serviceText],
      },
      status,
      { "content-type": contentType, "x-served-by": headerValue, "www-authenticate": headerValue },
    ),
  ];
/** A network error that contains the request in all its members. */
const networkFailure = (secrets: Secrets): Error => {
  const { failure, apiKey } = secrets;
  const inner = Object.assign(new Error(`${failure} ${apiKey}`), {
    code: `secret ${failure}`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(toRequest(secrets)),
  });
  const outer = new TypeError(`fetch to ${failure} with ${apiKey} failed`, { cause: inner });
  outer.stack = `${failure} ${outer.stack}`;
  return Object.assign(outer, { request: inner, [`x${failure}`]: apiKey });
};
const respond = (body: string, status: number, { headerValue }: Secrets): Script[] => [
  new Response(body, { status, headers: { "x-served-by": headerValue } }),
];

const after = (
  code: IssuingErrorCode,
  script: NonNullable<FailingCall["script"]>,
): FailingCall => ({
  code,
  script,
});
const misuse = (call: NonNullable<FailingCall["call"]>): FailingCall => ({
  code: "configuration",
  call,
});
const statuses = {
  401: "unauthorized",
  404: "not-found",
  422: "validation",
  500: "server",
} as const;

const failingCalls: Record<string, FailingCall> = {
  ...Object.fromEntries(
    Object.entries(statuses).map(([status, code]) => [
      `a ${status} that quotes the customer`,
      after(code, problem(Number(status))),
    ]),
  ),
  "a 500 with another media type": after("server", problem(500, "text/plain")),
  "an error page": after("server", (secrets) => respond(`<p>${secrets.serviceText}`, 502, secrets)),
  "a success that is not JSON": after("invalid-response", (secrets) =>
    respond(`<p>${secrets.serviceText}`, 201, secrets),
  ),
  "a card whose id is a number": after("invalid-response", ({ serviceText, email }) => [
    json({ id: 1, serviceText, email }, 201),
  ]),
  "an invalid status": after("invalid-response", ({ headerValue }) => [
    { status: 799, type: "default", headers: new Headers({ a: headerValue }), body: null } as never,
  ]),
  "a redirect": after("invalid-response", ({ headerValue }) => [
    new Response(null, { status: 307, headers: { location: `https://evil.test/${headerValue}` } }),
  ]),
  "a body that is cut": after("network", (secrets) => [
    new Response(new ReadableStream({ start: (stream) => stream.error(networkFailure(secrets)) })),
  ]),
  "a network failure": after("network", (secrets) => [networkFailure(secrets)]),
  "a thrown string": after("network", ({ failure }) => [() => Promise.reject(failure)]),
  "failures, then a 422": {
    code: "validation",
    options: () => ({ maxRetries: 2 }),
    script: (secrets) => [
      networkFailure(secrets),
      ...problem(503)(secrets),
      ...problem(422)(secrets),
    ],
  },
  "a 500 for a change of consent": {
    code: "server",
    script: problem(500),
    call: (client, { name }, options) =>
      client.setConsent("card_1", { marketing: true, version: `v${name}` }, options),
  },
  "a request of client.api": {
    code: undefined,
    script: problem(500),
    // The result contains the response, which only the program sees.
    call: async (client, { name, userId, header }) => {
      await client.api.PUT("/passes/{id}/consent", {
        params: { path: { id: `card_${userId}` } }, // a single dot would be rejected
        body: { marketing: true, version: name },
        headers: { "x-tenant": header },
      });
    },
  },
  "an apiKey function that throws": {
    code: "configuration",
    options: ({ apiKey, failure }) => ({
      apiKey: () => {
        throw new Error(`no ${apiKey}: ${failure}`);
      },
    }),
  },
  "an apiKey function that returns a line break": {
    code: "configuration",
    options: ({ apiKey }) => ({ apiKey: () => `${apiKey}\n` }),
  },
  "an invalid header": misuse((client, secrets, options) =>
    issue(client, secrets, { ...options, headers: { "x-tenant": `${secrets.header}\nx` } }),
  ),
  "an idempotency key with a line break": misuse((client, secrets, options) =>
    client.issueCard("tpl_club", toRequest(secrets), {
      ...options,
      idempotencyKey: `${secrets.apiKey}\n`,
    }),
  ),
  "a field value of a wrong type": misuse((client, { name, userId }, options) => {
    const request = { ...toRequest(plain), fieldValues: { name: [name] as never } };
    return client.issueCard("tpl_club", request, { ...options, userId });
  }),
  "a body with a circular reference": misuse((client, secrets, options) => {
    const customer: Record<string, unknown> = { ...toRequest(secrets).customer };
    customer["self"] = customer;
    return client.issueCard("tpl_club", { customer } as never, {
      ...options,
      userId: secrets.userId,
    });
  }),
};

/** Every way to print a value, and for an error its stack and cause. */
function formatAllWays(value: unknown): string {
  const parts = [
    inspect(value, { depth: Number.POSITIVE_INFINITY }),
    JSON.stringify(value),
    String(value),
  ];
  if (value instanceof Error)
    parts.push(String(value.stack), value.message, formatAllWays(value.cause));
  return parts.join("\n");
}

async function readOutput(
  { code, script, options, call = issue }: FailingCall,
  secrets: Secrets,
): Promise<string> {
  const { client, events } = scripted(script?.(secrets) ?? [], {
    apiKey: secrets.apiKey,
    maxRetries: 0,
    ...options?.(secrets),
  });
  await undefined; // so that the stacks of both runs begin here
  const ended = await call(client, secrets, { headers: { "x-tenant": secrets.header } }).catch(
    (error: unknown) => error,
  );
  expect(isIssuingError(ended) ? ended.code : ended).toBe(code);
  const emitted = events.map((event) => ({ ...event, callId: 0 })); // every call has another number
  const shown = [client, client.api, ended, emitted].map(formatAllWays).join("\n");
  // A hash depends on the user, but does not reveal it.
  return shown.replaceAll(/lc1_[\w-]{43}/g, "lc1_…");
}

// G8
it.each(Object.entries(failingCalls))(
  "prints no secrets and personal data in the client, the error or the events after %s",
  async (_name, failingCall) => {
    await fc.assert(
      fc.asyncProperty(randomSecrets, async (secrets) => {
        const shown: string[] = [];
        // In one line for both, because stacks contain line numbers.
        for (const each of [plain, secrets]) shown.push(await readOutput(failingCall, each));
        expect(shown[1]).toBe(shown[0]);
      }),
      { numRuns: 30 },
    );
  },
);

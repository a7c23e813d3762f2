/** The steps of `issueCard` that the outbox uses: prepare a request, derive its key, send it. */
import { readIssuingSteps } from "@loyalty-cards/internal/issuing-steps";
import {
  card,
  catchIssuingError,
  json,
  scripted,
  signUp,
  template,
} from "@loyalty-cards/testing/scripted-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createIssuingClient,
  defineTemplate,
  deriveIdempotencyKey,
  type IssuingClientOptions,
} from "../src/index.ts";

const openSteps = (
  script: Parameters<typeof scripted>[0] = [],
  options: Partial<IssuingClientOptions> = {},
) => {
  const run = scripted(script, options);
  return { ...run, steps: readIssuingSteps(run.client) };
};
const toError = (call: () => unknown) => catchIssuingError((async () => call())());

describe("readIssuingSteps", () => {
  it("throws a TypeError for a value that createIssuingClient did not return", () => {
    const { client } = scripted([]);
    for (const value of [undefined, null, {}, { ...client }]) {
      expect(() => readIssuingSteps(value as typeof client)).toThrow(TypeError);
    }
  });

  it("returns the steps of a client of another installed copy of the package", async () => {
    vi.resetModules();
    onTestFinished(() => void vi.resetModules());
    const copy = await import("../src/index.ts");
    expect(copy.createIssuingClient).not.toBe(createIssuingClient);
    const foreign = copy.createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" });
    expect(readIssuingSteps(foreign).baseUrl).toBe("https://cards.test");
  });

  it("returns the settings of the client, and adds no enumerable property to it", () => {
    const { client, clock, steps } = openSteps([], {
      deadlineMs: 7_000,
      idempotencyNamespace: "staging",
    });
    expect(steps).toMatchObject({ baseUrl: "https://cards.test", idempotencyNamespace: "staging" });
    expect(steps.clock).toBe(clock);
    expect(steps.deadlineMs).toBe(7_000);
    expect(Object.getOwnPropertySymbols({ ...client })).toEqual([]);
  });
});

describe("prepare", () => {
  it.each([
    ["a template id", template.id],
    ["a template", defineTemplate(template.id)],
  ])("returns the body that issueCard sends: %s", async (_name, chosen) => {
    const { client, steps, requests } = openSteps([json(card, 201)]);
    const request = { ...signUp, customer: { ...signUp.customer, email: " ", name: "Żółw 🐢" } };
    const prepared = steps.prepare(chosen, request);
    await client.issueCard(chosen, request, { userId: 1 });
    expect(prepared.templateId).toBe(template.id);
    expect(prepared.body).toBe(await requests[0]?.text());
    expect(prepared.body).not.toContain("email");
  });

  it.each([
    ["an empty template id", "", signUp],
    ["no customer", template.id, {}],
  ])("reports the error of issueCard for %s", async (_name, chosen, request) => {
    const { client, steps, requests } = openSteps();
    const prepared = await toError(() => steps.prepare(chosen, request));
    const issued = await toError(() =>
      client.issueCard(chosen, request as typeof signUp, { userId: 1 }),
    );
    expect(prepared.message).toBe(issued.message);
    expect(prepared).toMatchObject({ code: issued.code, outcome: "not-sent" });
    expect(requests).toHaveLength(0);
  });
});

describe("deriveKey", () => {
  it("derives the key of deriveIdempotencyKey, with the namespace of the client, and returns the id as text", async () => {
    for (const userId of ["żółw-🐢", 0, 2n ** 80n])
      for (const suffix of [{}, { keySuffix: "second" }]) {
        const { steps } = openSteps([], { idempotencyNamespace: "staging" });
        const input = { templateId: template.id, userId, ...suffix };
        expect(steps.formatUserId(userId)).toBe(String(userId));
        expect(steps.deriveKey(input)).toBe(
          await deriveIdempotencyKey({ ...input, namespace: "staging" }),
        );
      }
  });

  it.each([
    { templateId: "", userId: 1 },
    { templateId: template.id, userId: "" },
    { templateId: template.id, userId: 1, keySuffix: undefined as never },
  ])("reports the error of deriveIdempotencyKey for %j", async (input) => {
    const error = await toError(() => openSteps().steps.deriveKey(input));
    expect(error.message).toBe((await catchIssuingError(deriveIdempotencyKey(input))).message);
    expect(error.code).toBe("configuration");
  });

  it.each([
    ["without node:crypto", undefined],
    ["whose node:crypto has no hash", {}],
  ])(
    "throws in a runtime %s, where deriveIdempotencyKey derives the same keys",
    async (_name, nodeCrypto) => {
      const { getBuiltinModule } = process;
      const inputs = Array.from({ length: 20 }, (_, userId) => ({ templateId: "t", userId }));
      const keys = await Promise.all(inputs.map(deriveIdempotencyKey));
      onTestFinished(() => {
        process.getBuiltinModule = getBuiltinModule;
        vi.resetModules();
      });
      const find = (name: string) => (name === "node:crypto" ? nodeCrypto : undefined);
      process.getBuiltinModule = find as typeof getBuiltinModule;
      vi.resetModules(); // a module of Node.js is loaded once
      const copy = await import("../src/index.ts");
      expect(await Promise.all(inputs.map(copy.deriveIdempotencyKey))).toEqual(keys);
      const steps = readIssuingSteps(
        copy.createIssuingClient({ baseUrl: "https://cards.test", apiKey: "k" }),
      );
      const error = await toError(() => steps.deriveKey({ templateId: "t", userId: 1 }));
      expect(error).toMatchObject({
        code: "configuration",
        message: expect.stringContaining("node:crypto"),
      });
    },
  );
});

describe("send", () => {
  const prepared = (body: string) => ({
    templateId: template.id,
    body,
    idempotencyKey: "order-1",
    sinceFirstUseMs: undefined,
  });

  it("sends the body byte for byte, with the key", async () => {
    const { steps, requests } = openSteps([json(card, 201)]);
    const body = `{ "fieldValues": {}, "customer": { "name": "Żółw 🐢", "consents": { "privacy": { "version": "1" } } } }\n`;
    expect(await steps.send(prepared(body))).toEqual(card);
    const [request] = requests;
    expect(await request?.text()).toBe(body);
    expect(request?.headers.get("idempotency-key")).toBe("order-1");
    expect(request?.url).toBe(`https://cards.test/api/v1/templates/${template.id}/passes`);
  });

  it("does not retry", async () => {
    const { steps, requests } = openSteps([json({}, 503), json(card, 201)]);
    const error = await catchIssuingError(steps.send(prepared("{}")));
    expect(error).toMatchObject({
      code: "server",
      outcome: "unknown",
      retryable: true,
      attempts: 1,
    });
    expect(requests).toHaveLength(1);
  });

  // G26
  it("sends nothing for a key whose first attempt was 24 hours ago, or at an unknown time", async () => {
    for (const sinceFirstUseMs of [24 * 3_600_000, Number.POSITIVE_INFINITY]) {
      const { steps, requests } = openSteps();
      const error = await catchIssuingError(steps.send({ ...prepared("{}"), sinceFirstUseMs }));
      expect(error).toMatchObject({ code: "idempotency-expired", idempotencyKey: "order-1" });
      expect(requests).toHaveLength(0);
    }
  });

  it("has the outcome of this attempt in its error, whatever earlier ones did", async () => {
    const sendAgain = async (status: number) => {
      const { steps } = openSteps([json({}, status)]);
      const keyed = { ...prepared("{}"), sinceFirstUseMs: 3_600_000 };
      return (await catchIssuingError(steps.send(keyed))).outcome;
    };
    for (const status of [
      400, 401, 402, 403, 404, 405, 410, 413, 414, 415, 421, 422, 425, 429, 451,
    ])
      expect(await sendAgain(status), `${status}`).toBe("rejected");
    for (const status of [408, 409, 423, 500, 503])
      expect(await sendAgain(status), `${status}`).toBe("unknown");
  });

  it("emits fields-differ for a card with other values than those of the body", async () => {
    const { steps, events } = openSteps([json({ ...card, fieldValues: { name: "Eve" } }, 201)]);
    const request = steps.prepare(template.id, signUp);
    await steps.send({ ...request, idempotencyKey: "order-1", sinceFirstUseMs: undefined });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "fields-differ", fieldKeys: ["name"] }),
    );
  });
});

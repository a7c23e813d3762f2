/**
 * Idempotency keys of issueCard (spec 4.1): 24 hours, concurrent calls, stored errors, and
 * warnings.
 */

import { openMockShop, shopTemplate, toSignUp } from "@loyalty-cards/testing/mock-shop";
import { describe, expect, it } from "vitest";
import { getWarnings } from "./shop.ts";

const key = { "idempotency-key": "user-1" };

describe("the same Idempotency-Key", () => {
  it("returns the card as it is now with 201 within 24 hours, for any body and also for an archived template", async () => {
    const { service, issue } = openMockShop();
    const first = await issue(toSignUp(), key);
    await service.clock.advance("23h");
    service.cards.purchase(first.body.id, { points: 5 });
    service.templates.archive(shopTemplate.id);
    for (const body of [toSignUp(), toSignUp({ email: "other@example.com" }), {}]) {
      const card = { id: first.body.id, loyaltyBalance: 5 };
      expect(await issue(body, key)).toMatchObject({ status: 201, body: card });
    }
  });

  it("returns the same card a millisecond before 24 hours, and another one after 24 hours", async () => {
    const { service, issue } = openMockShop();
    const { body } = await issue(toSignUp(), key);
    await service.clock.advance(24 * 3_600_000 - 1);
    expect((await issue(toSignUp(), key)).body.id).toBe(body.id);
    await service.clock.advance(1);
    expect((await issue(toSignUp(), key)).body.id).not.toBe(body.id);
  });

  it("can be used again after an error: only successes are stored", async () => {
    const { issue } = openMockShop();
    expect((await issue(toSignUp({}, {}), key)).status).toBe(422);
    expect((await issue(toSignUp(), key)).status).toBe(201);
  });

  it.each(["", "x".repeat(256)])(
    "is rejected when it is %j: two users might share it",
    async (value) => {
      const { issue } = openMockShop();
      expect((await issue(toSignUp(), { "idempotency-key": value })).status).toBe(400);
    },
  );

  it("issues another card when it is absent or different", async () => {
    const { issue } = openMockShop();
    const keys = [key, { "idempotency-key": "user-2" }, {}];
    const responses = await Promise.all(keys.map((each) => issue(toSignUp(), each)));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(3);
  });
});

describe("a service with storeRefusals", () => {
  const missing = toSignUp({}, {});

  it("repeats a 422 under its key for 24 hours, also for a corrected request", async () => {
    const { service, issue } = openMockShop({ storeRefusals: true });
    const refused = await issue(missing, key);
    expect(refused.status).toBe(422);
    await service.clock.advance(24 * 3_600_000 - 1);
    const repeated = await issue(toSignUp(), key);
    expect([repeated.status, repeated.body]).toEqual([422, refused.body]);
    await service.clock.advance(1);
    expect((await issue(toSignUp(), key)).status).toBe(201);
  });

  it("issues a card for a corrected request under another key, and repeats a 404 for an existing template", async () => {
    const { call, issue } = openMockShop({ storeRefusals: true });
    expect((await issue(missing, key)).status).toBe(422);
    const other = { "idempotency-key": "user-1 again" };
    expect((await issue(toSignUp(), other)).status).toBe(201);
    expect((await issue(missing)).status).toBe(422);
    expect((await issue(toSignUp())).status).toBe(201);
    const path = "/api/v1/templates/tpl_none/passes";
    const headers = { "idempotency-key": "user-2" };
    expect((await call("POST", path, { body: toSignUp(), headers })).status).toBe(404);
    expect((await issue(toSignUp(), headers)).status).toBe(404);
  });

  it("does not store a 400, 401 or 415", async () => {
    const { call, issue } = openMockShop({ storeRefusals: true });
    const path = `/api/v1/templates/${shopTemplate.id}/passes`;
    const asText = { ...key, "content-type": "text/plain" };
    expect((await call("POST", path, { body: "{", headers: key })).status).toBe(400);
    expect(
      (await call("POST", path, { body: toSignUp(), headers: key, key: "wrong" })).status,
    ).toBe(401);
    expect((await call("POST", path, { body: toSignUp(), headers: asText })).status).toBe(415);
    expect((await issue(toSignUp(), key)).status).toBe(201);
  });

  it("returns the same card under a key, and deletes stored errors on a reset", async () => {
    const { service, issue } = openMockShop({ storeRefusals: true });
    expect((await issue(missing, key)).status).toBe(422);
    service.reset();
    const { status, body } = await issue(toSignUp(), key);
    expect(status).toBe(201);
    expect((await issue(missing, key)).body.id).toBe(body.id);
  });
});

it("warns when a customer gets a second card of a template, under another key", async () => {
  const { service, issue, call } = openMockShop();
  service.templates.create({ ...shopTemplate, id: "tpl_other" });
  const anna = toSignUp({ phone: "+48600100200" });
  const { body } = await issue(anna, { "idempotency-key": "user-1" });
  await issue(toSignUp({ phone: "+48600100201" }), { "idempotency-key": "user-2" });
  await call("POST", "/api/v1/templates/tpl_other/passes", { body: anna });
  expect(getWarnings(service)).toEqual([]);
  await issue(anna, { "idempotency-key": "user-1b" });
  expect(getWarnings(service)).toEqual([
    {
      type: "second-card",
      message: `The customer has the card ${body.id} of this template already. Did the user id or the idempotencyNamespace (LOYALTY_IDEMPOTENCY_NAMESPACE) change? With the same ones the response is the first card.`,
    },
  ]);
});

describe("a key repeated with other content", () => {
  const key = { "idempotency-key": "staging user 1, anna@example.com" };
  const anna = toSignUp({ phone: "+48600100200", email: "anna@example.com", name: "Anna Secret" });
  const piotr = toSignUp({
    phone: "+48600100999",
    email: "piotr@example.com",
    name: "Piotr Secret",
  });

  it("is logged as a warning, and recorded with its card, without personal data and the key", async () => {
    const { service, lines, issue, call } = openMockShop();
    const { body } = await issue(anna, key);
    expect((await issue(piotr, key)).body.id).toBe(body.id);
    expect(getWarnings(service)).toEqual([
      {
        type: "replay-with-other-content",
        message: expect.stringMatching(
          new RegExp(
            `^Other content under the same key\\. Two people may share a key: set idempotencyNamespace.*card ${body.id}`,
          ),
        ),
      },
    ]);
    expect(service.requests().at(-1)).toMatchObject({ reason: "replay", cardId: body.id });
    expect(lines).toEqual([`warning: ${getWarnings(service)[0]?.message}`]);
    const path = "/api/v1/templates/anna%40example.com%0AForged/passes";
    await call("POST", path, { body: piotr, headers: key });
    const texts = [...lines, JSON.stringify(getWarnings(service))];
    expect(lines).toHaveLength(2);
    for (const text of texts)
      expect(text).not.toMatch(/example\.com|Secret|48600|user 1|Forged|Anna|Piotr/i);
  });

  it("is logged for another template with the same body", async () => {
    const { service, issue, call } = openMockShop();
    service.templates.create({ id: "tpl_other", name: "Other" });
    const { body } = await issue(anna, key);
    const path = "/api/v1/templates/tpl_other/passes";
    expect((await call("POST", path, { body: anna, headers: key })).body.id).toBe(body.id);
    expect(service.requests().at(-1)).toMatchObject({
      path,
      cardId: body.id,
      warnings: [{ type: "replay-with-other-content" }],
    });
  });

  it("is not logged when the content is the same, in any order of members", async () => {
    const { service, lines, issue } = openMockShop();
    const { consents, ...contact } = anna.customer;
    await issue(anna, key);
    await issue(anna, key);
    await issue({ customer: { consents, ...contact }, fieldValues: anna.fieldValues }, key);
    await issue({ customer: { ...contact, consents }, fieldValues: anna.fieldValues }, key);
    await issue(piotr, { "idempotency-key": "user-2" });
    expect([getWarnings(service), lines]).toEqual([[], []]);
  });

  it("says to send a new key for a stored error", async () => {
    const { service, issue } = openMockShop({ storeRefusals: true });
    await issue(toSignUp({}, {}), key);
    await issue(toSignUp(), key);
    const [warning, ...others] = getWarnings(service);
    expect(others).toEqual([]);
    expect(warning?.message).toMatch(/stored 422.*new key/);
    expect(service.requests().at(-1)?.cardId).toBeUndefined();
  });

  it("is logged with the keys of the field values that differ, which are no values", async () => {
    const { service, lines, call } = openMockShop();
    service.templates.create({ id: "tpl_town", name: "Town", fields: [] });
    const withFields = (fieldValues: object) =>
      call("POST", "/api/v1/templates/tpl_town/passes", {
        body: toSignUp({}, fieldValues),
        headers: key,
      });
    await withFields({ name: "Anna Secret", town: "Secret town" });
    await withFields({ name: "  Piotr Secret ", town: "Secret town" });
    await withFields({ name: " Anna Secret" });
    await withFields({ name: " Anna Secret", town: "Secret town" }); // only the spaces differ
    await call("POST", "/api/v1/templates/tpl_town/passes", { body: ["no object"], headers: key });
    const replays = getWarnings(service).filter(({ type }) => type === "replay-with-other-content");
    expect(replays.map(({ fields }) => fields)).toEqual([
      ["name"],
      ["town"],
      undefined,
      ["name", "town"],
    ]);
    expect(replays[0]?.message).toMatch(/^Other content under the same key: "name"\. Two/);
    expect(replays[2]?.message).toMatch(/^Other content under the same key\. Two/);
    expect(lines.join()).not.toMatch(/Secret|Anna|Piotr/);
  });

  it("is logged without the field that the service keeps up to date", async () => {
    const { service, issue } = openMockShop();
    const { body } = await issue(toSignUp({}, { firstName: "Anna", points: 3 }), key);
    service.cards.purchase(body.id, { points: 12 });
    await issue(toSignUp({ name: "Anna" }, { firstName: "Anna", points: 3 }), key);
    expect(getWarnings(service)).toMatchObject([
      { message: expect.stringMatching(/^Other content .* key\./) },
    ]);
    expect(getWarnings(service)[0]).not.toHaveProperty("fields");
  });
});

/** Single flight: concurrent calls with the same key share one request. */
import { expect, it } from "vitest";
import { card, json, scripted, signUp, template } from "./scripted.ts";

function gate() {
  let open: (response: Response) => void = () => {};
  const response = new Promise<Response>((resolve) => {
    open = resolve;
  });
  return { response: () => response, open: () => open(json(card, 201)) };
}

const turns = async () => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};
const byUser = { idempotencyKey: "user-7" };

// G1
it("sends one request for two concurrent calls, and returns each its own card", async () => {
  const { response, open } = gate();
  const { client, requests } = scripted([response]);
  const calls = [
    client.issueCard(template.id, signUp, byUser),
    client.issueCard(template.id, signUp, byUser),
  ];
  await turns();
  open();
  const [first, second] = await Promise.all(calls);
  expect(requests).toHaveLength(1);
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});

it("shares the request when the members of the body are in another order", async () => {
  const { response, open } = gate();
  const { client, requests } = scripted([response]);
  const { phone, consents } = signUp.customer;
  const tags = ["b", "a"];
  const one = { customer: { phone, consents, tags, note: null } };
  const other = { customer: { note: null, tags, consents, phone } };
  const calls = [client.issueCard(template.id, one, byUser), client.issueCard(template.id, other, byUser)];
  await turns();
  open();
  await Promise.all(calls);
  expect(requests).toHaveLength(1);
});

it("rejects another body or template with the same key before it is sent", async () => {
  const { response, open } = gate();
  const { client, requests } = scripted([response]);
  const key = { idempotencyKey: "order-1" };
  const first = client.issueCard(template.id, signUp, key);
  const others = [
    client.issueCard(template.id, { ...signUp, fieldValues: { name: "Eve" } }, key),
    client.issueCard("tpl_other", signUp, key),
  ];
  for (const other of others) {
    await expect(other).rejects.toMatchObject({
      code: "idempotency-mismatch",
      outcome: "not-sent",
      idempotencyKey: "order-1",
    });
  }
  await turns();
  open();
  await first;
  expect(requests).toHaveLength(1);
});

it("sends separate requests for other users and other keys", async () => {
  const { client, requests } = scripted([json(card, 201), json(card, 201), json(card, 201), json(card, 201)]);
  await Promise.all([
    client.issueCard(template.id, signUp, { userId: 1 }),
    client.issueCard(template.id, signUp, { userId: 2 }),
    client.issueCard(template.id, signUp, { idempotencyKey: "order-1" }),
    client.issueCard(template.id, signUp, { idempotencyKey: "order-2" }),
  ]);
  expect(requests).toHaveLength(4);
});

it("sends a new request after the shared request has ended", async () => {
  const { client, requests } = scripted([json(card, 201), json({}, 422), json(card, 201)]);
  await client.issueCard(template.id, signUp, byUser);
  await client.issueCard(template.id, signUp, byUser).catch(() => {});
  await client.issueCard(template.id, signUp, byUser);
  expect(requests).toHaveLength(3);
});

it.each([0, 1])("continues the request when caller %i leaves", async (leaver) => {
  const { response, open } = gate();
  const { client, requests, clock } = scripted([response]);
  const controllers = [new AbortController(), new AbortController()];
  const calls = controllers.map(({ signal }) => client.issueCard(template.id, signUp, { ...byUser, signal }));
  const reason = new Error("left");
  await turns();
  controllers[leaver]?.abort(reason);
  await expect(calls[leaver]).rejects.toBe(reason);
  expect(requests[0]?.signal.aborted).toBe(false);
  open();
  expect((await calls[1 - leaver])?.id).toBe("card_1");
  expect(clock.pendingTimers).toBe(0);
});

it("keeps sharing the next request with the same key after an aborted one ends", async () => {
  const { response, open } = gate();
  const { client, requests } = scripted([() => new Promise<Response>(() => {}), response]);
  const controller = new AbortController();
  const left = client.issueCard(template.id, signUp, { ...byUser, signal: controller.signal });
  await turns();
  controller.abort(new Error("left"));
  const next = client.issueCard(template.id, signUp, byUser); // begins before the first has ended
  await expect(left).rejects.toThrow("left");
  await turns();
  const joined = client.issueCard(template.id, signUp, byUser);
  await turns();
  open();
  expect(await joined).toEqual(await next);
  expect(requests).toHaveLength(2);
});

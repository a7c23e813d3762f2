/** Events of calls: attempts, retries, the end of a call, and cards with other values. */
import { describe, expect, it } from "vitest";
import type { IssueCardRequest } from "../src/index.ts";
import { card, issueScripted, json, networkError, scripted, signUp } from "./scripted.ts";

const issued = () => json(card, 201);

describe("onEvent", () => {
  it("receives attempts, retries with their reason, and the response", async () => {
    const slow = () => {
      run.clock.block(7);
      return issued();
    };
    const run = issueScripted([json({}, 503), networkError("ECONNRESET"), slow]);
    const { events } = run;
    await run.result;
    const ofThisCall = { callId: events[0]?.callId, operation: "issueCard" };
    expect(events).toEqual([
      { ...ofThisCall, type: "attempt", attempt: 1, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 1, status: 503, delayMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 2, method: "POST" },
      { ...ofThisCall, type: "retry", attempt: 2, code: "network", delayMs: 0 },
      { ...ofThisCall, type: "attempt", attempt: 3, method: "POST" },
      { ...ofThisCall, type: "response", attempts: 3, status: 201, durationMs: 7 },
    ]);
  });

  it("receives a failure when a call ends without a response", async () => {
    const { result, events } = issueScripted([networkError("ECONNRESET")], { maxRetries: 0 });
    await result.catch(() => {});
    const callId = expect.any(Number);
    const failure = { type: "failure", callId, operation: "issueCard", attempts: 1, code: "network" };
    expect(events.at(-1)).toEqual({ ...failure, durationMs: 0 });
  });

  it("receives a failure after a mistake in the program, which is thrown as it is and not retried", async () => {
    const mistake = new TypeError("not a function");
    const get = () => {
      throw mistake;
    };
    const response = { status: 200, type: "default", headers: { get }, body: null, text: async () => "{}" };
    const { client, events } = scripted([response as never]);
    await expect(client.getCard("card_1")).rejects.toBe(mistake);
    expect(events).toMatchObject([{ type: "attempt" }, { type: "failure", code: "configuration" }]);
  });

  it("receives the same callId in all events of one call", async () => {
    const { client, events } = scripted([json(card), json({}, 404)]);
    await Promise.allSettled([client.getCard("card_1"), client.getCard("card_2")]);
    const [first = 0, second = 0, ...more] = new Set(events.map(({ callId }) => callId));
    const ofCall = (callId: number) => events.filter((event) => event.callId === callId);
    expect(more).toEqual([]);
    expect(ofCall(first)).toMatchObject([{ type: "attempt" }, { type: "response", status: 200 }]);
    expect(ofCall(second)).toMatchObject([{ type: "attempt" }, { type: "response", status: 404 }]);
  });

  it("does not fail a call when it throws or rejects", async () => {
    const failure = new Error("metrics down");
    const fail = () => {
      throw failure;
    };
    for (const onEvent of [fail, () => Promise.reject(failure)])
      expect((await issueScripted([issued()], { onEvent }).result).id).toBe("card_1");
  });
});

describe("fields-differ", () => {
  const stored = (fieldValues?: object) => json({ ...card, ...(fieldValues && { fieldValues }) }, 201);
  const issue = (request: IssueCardRequest, response: Response) => {
    const { client, events } = scripted([response]);
    return client.issueCard("tpl_club", request, { userId: 1 }).then(() => events);
  };
  const { customer } = signUp;

  // G9
  it("names the fields whose values are those of another request, without the values, before the end", async () => {
    const fieldValues = { name: "Anna", shop: 7, points: 0 };
    const events = await issue(
      { customer, fieldValues },
      stored({ name: "Eve", shop: 8, points: 0, colour: "red" }),
    );
    expect(events.map(({ type }) => type)).toEqual(["attempt", "fields-differ", "response"]);
    expect(events[1]).toEqual({
      type: "fields-differ",
      callId: events[0]?.callId,
      operation: "issueCard",
      fieldKeys: ["name", "shop"],
    });
  });

  const fieldValues = { name: "Anna", shop: 7 };
  it.each<[string, object | undefined, IssueCardRequest?]>([
    ["equal values", { name: "Anna", shop: 7 }],
    ["values without surrounding spaces, and a number as text", { name: " Anna ", shop: "7" }],
    ["no values", undefined],
    ["other fields", { colour: "red", points: 3 }],
    ["values, when none were sent", { name: "Eve" }, { customer }],
  ])("is not emitted for a card with %s", async (_name, returned, request = { customer, fieldValues }) => {
    const events = await issue(request, stored(returned));
    expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
  });

  it("compares with the values at the time of the call", async () => {
    const { client, events } = scripted([stored({ name: "Eve" })]);
    const fieldValues = { name: "Anna" };
    const call = client.issueCard("tpl_club", { customer, fieldValues }, { userId: 1 });
    fieldValues.name = "Eve";
    await call;
    expect(events.filter(({ type }) => type === "fields-differ")).toMatchObject([{ fieldKeys: ["name"] }]);
  });
});

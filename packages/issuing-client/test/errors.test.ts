/** What every error has, and what it has only when it is known. */
import { expect, it } from "vitest";
import { IssuingError, isIssuingError, ProblemError } from "../src/index.ts";
import { json, networkError, scripted, signUp } from "./scripted.ts";

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("the call succeeded"),
    (error) => error,
  );

it("a mistake of the program was not sent, and trying again does not help", async () => {
  const { client } = scripted([]);
  const error = await failureOf(client.getCard(""));
  expect(error).toBeInstanceOf(IssuingError);
  expect({ ...error }).toStrictEqual({
    name: "IssuingError",
    code: "configuration",
    outcome: "not-sent",
    retryable: false,
    attempts: 0,
  });
  expect("cause" in error).toBe(false);
});

it("an answer's error has what the answer tells, and nothing else", async () => {
  const { client } = scripted([json({}, 404)]);
  const error = await failureOf(client.getCard("card_1"));
  expect(error).toBeInstanceOf(ProblemError);
  expect(error.fields).toEqual([]);
  expect({ ...error }).toStrictEqual({
    name: "ProblemError",
    code: "not-found",
    status: 404,
    outcome: "rejected",
    retryable: false,
    attempts: 1,
  });
});

it("a broken connection is told by the runtime's code", async () => {
  const { client } = scripted([networkError("ECONNRESET")], { maxRetries: 0 });
  const error = await failureOf(client.issueCard("tpl_club", signUp, { idempotencyKey: "order-1" }));
  expect(error).toMatchObject({ code: "network", retryable: true, cause: { code: "ECONNRESET" } });
  expect([error.message, error.cause.message]).toEqual([
    "The connection to the service failed (ECONNRESET).",
    "ECONNRESET",
  ]);
});

it.each([
  [401, /apiKey/],
  [403, /apiKey/],
  [404, /baseUrl/],
  [422, /userMessage/],
])("the message of a %i says where to look", async (status, where) => {
  const { client } = scripted([json({}, status)]);
  expect((await failureOf(client.getCard("card_1"))).message).toMatch(where);
});

it("is known by a mark that all versions of the package share", () => {
  expect(isIssuingError({ [Symbol.for("@loyalty-cards/issuing-client/error")]: true })).toBe(true);
});

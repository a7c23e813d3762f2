/** Members of errors, always present and optional ones. */
import { describe, expect, it } from "vitest";
import { IssuingError, isIssuingError, ProblemError } from "../src/index.ts";
import { json, networkError, readText, scripted, signUp } from "./scripted.ts";

const catchError = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("the call succeeded"),
    (error) => error,
  );

it("marks a configuration error as not sent and not retryable", async () => {
  const { client } = scripted([]);
  const error = await catchError(client.getCard(""));
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

it("has only the documented members in a ProblemError", async () => {
  const { client } = scripted([json({}, 404)]);
  const error = await catchError(client.getCard("card_1"));
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

it("names the runtime's error code when a connection fails", async () => {
  const { client } = scripted([networkError("ECONNRESET")], { maxRetries: 0 });
  const error = await catchError(client.issueCard("tpl_club", signUp, { idempotencyKey: "order-1" }));
  expect(error).toMatchObject({ code: "network", retryable: true, cause: { code: "ECONNRESET" } });
  expect([readText(error), error.cause.message]).toEqual([
    "The connection to https://cards.test failed (ECONNRESET).",
    "ECONNRESET",
  ]);
});

it.each([
  [401, /apiKey/],
  [403, /apiKey/],
  [404, /service at https:/],
  [422, /no detail/],
])("says what to check in the message of a %i", async (status, where) => {
  const { client } = scripted([json({}, status)]);
  expect((await catchError(client.getCard("card_1"))).message).toMatch(where);
});

it("identifies errors by a symbol that all versions of the package share", () => {
  expect(isIssuingError({ [Symbol.for("@loyalty-cards/issuing-client/error")]: true })).toBe(true);
});

describe("the address of the error page", () => {
  const link = " See https://loyalty-cards.github.io/loyalty-cards/errors/not-found";
  const countLinks = (text: string) => text.split("https://loyalty-cards.github.io/").length - 1;

  it("ends the message, and is not in the message for the user", async () => {
    const { client } = scripted([json({}, 404)]);
    const error = await catchError(client.getCard("card_1"));
    expect(error.message.endsWith(link)).toBe(true);
    expect(countLinks(error.userMessage)).toBe(0);
  });

  it("is in the message once when calls that share a request fail", async () => {
    const apiKey = () => Promise.reject(new Error("down"));
    const { client } = scripted([], { apiKey });
    const errors = await Promise.all(
      [1, 2].map(() => catchError(client.issueCard("tpl_club", signUp, { userId: 1 }))),
    );
    expect(errors.map(({ message }) => countLinks(message))).toEqual([1, 1]);
  });

  it("is in the message once when an error is created from the message of another", () => {
    const facts = { code: "not-found", outcome: "rejected" } as const;
    const { message } = new IssuingError("The card does not exist.", facts);
    expect(message).toBe(`The card does not exist.${link}`);
    expect(new IssuingError(message, facts).message).toBe(message);
  });
});

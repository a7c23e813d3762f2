/** The service's announcements reach the program, once per operation. */
import { expect, it } from "vitest";
import { card, json, scripted } from "./scripted.ts";

const announced = { deprecation: "@1767225600", sunset: "Fri, 01 Jan 2027 00:00:00 GMT" };

it("Deprecation and Sunset are one event per operation", async () => {
  const answer = () => json({ ...card, marketingConsent: true }, 200, announced);
  const { client, events } = scripted([answer(), answer(), answer()]);
  await client.getCard("card_1");
  await client.getCard("card_2");
  await client.getConsent("card_1");
  expect(events.filter(({ type }) => type === "deprecation")).toEqual([
    { type: "deprecation", call: expect.any(Number), operation: "getCard", ...announced },
    { type: "deprecation", call: expect.any(Number), operation: "getConsent", ...announced },
  ]);
});

it.each([["deprecation"], ["sunset"]] as const)("either header alone is told: %s", async (name) => {
  const { client, events } = scripted([json(card, 200, { [name]: announced[name] })]);
  await client.getCard("card_1");
  expect(events.find((event) => event.type === "deprecation")).toEqual({
    type: "deprecation",
    call: expect.any(Number),
    operation: "getCard",
    [name]: announced[name],
  });
});

it("without them nothing is told", async () => {
  const { client, events } = scripted([json(card)]);
  await client.getCard("card_1");
  expect(events.map(({ type }) => type)).toEqual(["attempt", "response"]);
});

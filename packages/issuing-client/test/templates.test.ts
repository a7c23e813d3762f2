/** Templates with a schema: validated before the request, with errors that contain no values. */
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTemplate } from "../src/index.ts";
import { card, json, readText, scripted, signUp } from "./scripted.ts";

const club = defineTemplate(
  "tpl_club",
  z.object({ name: z.string().trim().min(1), points: z.number().optional() }),
);
const { customer } = signUp;

describe("a template with a schema", () => {
  it("sends the values that the schema returns", async () => {
    const { client, requests } = scripted([json(card, 201)]);
    await client.issueCard(club, { customer, fieldValues: { name: "  Anna " } }, { userId: 1 });
    expect(await requests[0]?.json()).toMatchObject({ fieldValues: { name: "Anna" } });
  });

  it("rejects other values before the request, naming the fields without their values", async () => {
    const { client, requests } = scripted([]);
    const fieldValues = { name: 600100200 as never, points: "hunter2" as never };
    const error = await client
      .issueCard(club, { customer, fieldValues }, { userId: 1 })
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "validation", outcome: "not-sent", attempts: 0 });
    expect(readText(error)).toBe(
      "Field values do not match the template's schema: /fieldValues/name, /fieldValues/points.",
    );
    expect(error.userMessage).toMatch(/check them/);
    expect(requests).toEqual([]);
  });

  it("validates missing fieldValues as an empty object", async () => {
    const { client } = scripted([]);
    await expect(client.issueCard(club, { customer } as never, { userId: 1 })).rejects.toMatchObject({
      code: "validation",
    });
  });
});

/** A template whose Standard Schema, made without a library, returns this value. */
function templateReturning(getValue: (given: unknown) => unknown) {
  const validate = (given: unknown) => ({ value: getValue(given) as never });
  return defineTemplate("tpl_club", { "~standard": { version: 1, vendor: "test", validate } });
}

it("sends empty field values when the schema returns none", async () => {
  const { client, requests } = scripted([json(card, 201)]);
  await client.issueCard(
    templateReturning(() => undefined),
    { customer, fieldValues: {} as never },
    { userId: 1 },
  );
  expect(await requests[0]?.json()).toEqual({ customer, fieldValues: {} });
});

it("passes the given values to the schema, null included", async () => {
  const { client } = scripted([json(card, 201)]);
  const seen: unknown[] = [];
  const template = templateReturning((given) => {
    seen.push(given);
    return {};
  });
  await client.issueCard(template, { customer, fieldValues: null as never }, { userId: 1 });
  expect(seen).toEqual([null]);
});

it("accepts a schema of another library", async () => {
  const schema = v.object({ name: v.pipe(v.string(), v.trim(), v.minLength(1)) });
  const valibotClub = defineTemplate("tpl_club", schema);
  const { client, requests } = scripted([json(card, 201)]);
  await client.issueCard(valibotClub, { customer, fieldValues: { name: " Anna " } }, { userId: 1 });
  expect(await requests[0]?.json()).toMatchObject({ fieldValues: { name: "Anna" } });
  const refused = client.issueCard(
    valibotClub,
    { customer, fieldValues: { name: 600100200 as never } },
    { userId: 1 },
  );
  await expect(refused).rejects.toMatchObject({
    code: "validation",
    message: expect.not.stringContaining("600100200"),
  });
});

it("freezes a template", () => {
  expect(Object.isFrozen(club)).toBe(true);
});

/** Warnings about keys of `fieldValues` that the template does not have. */
import { describe, expect, it } from "vitest";
import { openShop, signUp, template } from "./shop.ts";

function openLoggingShop() {
  const lines: string[] = [];
  return { lines, ...openShop({ log: (line) => void lines.push(line) }) };
}

describe("a field key that the template does not have", () => {
  it("is warned of with the key that was probably meant, and the card is issued", async () => {
    const { service, lines, issue } = openLoggingShop();
    const { status } = await issue(signUp({}, { firstName: "Anna", piont: 7, ponits: 8 }));
    expect(status).toBe(201);
    expect(service.warnings()).toEqual([
      {
        id: expect.stringMatching(/^wrn_/),
        type: "unknown-fields",
        at: "2026-03-01T12:00:00.000Z",
        message:
          'fieldValues has keys that template tpl_club does not have: "piont" (did you mean "points"?), "ponits" (did you mean "points"?). Its fields are "firstName", "points".',
        templateId: template.id,
        fields: ["piont", "ponits"],
      },
    ]);
    expect(lines).toEqual([`warning: ${service.warnings()[0]?.message}`]);
  });

  it("is warned of for a swap of two letters, another case and a separator, and without a guess for another word", async () => {
    const { service, lines, issue } = openLoggingShop();
    service.templates.create({
      id: "tpl_name",
      name: "Name",
      fields: [{ key: "name", type: "name", required: false }],
    });
    for (const wrong of ["nmae", "Name", "na_me", "names"]) {
      await service.fetch(
        new Request("http://mock.test/api/v1/templates/tpl_name/passes", {
          method: "POST",
          headers: {
            authorization: `Bearer ${service.apiKeys.website}`,
            "content-type": "application/json",
          },
          body: JSON.stringify(signUp({}, { [wrong]: "Anna" })),
        }),
      );
      expect(lines.pop()).toContain(`"${wrong}" (did you mean "name"?)`);
    }
    await issue(signUp({}, { firstName: "Anna", birthday: "1 May" }));
    expect(lines.pop()).toContain('does not have: "birthday". Its fields are');
  });

  it("is warned of when a required field is missing for it", async () => {
    const { lines, issue } = openLoggingShop();
    expect((await issue(signUp({}, { fistName: "Anna" }))).status).toBe(422);
    expect(lines).toEqual([expect.stringContaining('"fistName" (did you mean "firstName"?)')]);
  });

  it("is not warned of when the template has all keys", async () => {
    const { service, lines, issue } = openLoggingShop();
    await issue(signUp({}, { firstName: "Anna", points: 1 }));
    await issue(signUp());
    expect([service.warnings(), lines]).toEqual([[], []]);
  });

  it("is one warning a minute for one mistake, for all customers together", async () => {
    const { service, lines, issue } = openLoggingShop();
    const signUpWith = (key: string, name: string) => issue(signUp({ name }, { firstName: name, [key]: 7 }));
    for (const name of ["Anna", "Bernd", "Celine"]) await signUpWith("piont", name);
    expect(lines).toHaveLength(1);
    await signUpWith("town", "Anna");
    expect(lines).toHaveLength(2);
    await service.clock.advance("1m");
    await signUpWith("piont", "Anna");
    expect(lines).toHaveLength(3);
  });

  it("is named without its value, on one line, and cut when it is long", async () => {
    const { service, lines, issue } = openLoggingShop();
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, "Secret"]));
    await issue(
      signUp(
        {},
        { firstName: "Secret", "a\nwarning: forged": "Secret", ["x".repeat(5_000)]: "Secret", ...many },
      ),
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/Secret|\n/);
    expect(lines[0]).toContain("and 22 more");
    expect(lines[0]?.length).toBeLessThan(600);
    expect(service.warnings()[0]?.fields).toHaveLength(10);
  });
});

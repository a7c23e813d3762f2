/** Named parameters of the engine's statements, and the version of its tables. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { formatRows, getValue, replaceParameters, toRowValues } from "../jobs/statement.ts";
import { dialects, formatTables, nameTables, tablesVersion } from "../jobs/tables.ts";

describe("a parameter", () => {
  it("is a colon and a name, which a cast is not, and is text unless its type follows", () => {
    const found: string[][] = [];
    const sql = replaceParameters(
      "SELECT :topic, lease::text, due + :delayMs::bigint FROM a WHERE x = :id_12",
      (...parameter) => {
        found.push(parameter);
        return "?";
      },
    );
    expect(sql).toBe("SELECT ?, lease::text, due + ? FROM a WHERE x = ?");
    expect(found).toEqual([
      ["topic", "text"],
      ["delayMs", "bigint"],
      ["id_12", "text"],
    ]);
  });

  it("has a value, which can be null", () => {
    expect(getValue({ id: 0, name: null }, "id")).toBe(0);
    expect(getValue({ id: 0, name: null }, "name")).toBeNull();
    expect(() => getValue({}, "name")).toThrow("no value for :name");
  });

  it("has the number of its row", () => {
    expect(formatRows({ id: "bigint", body: "text" }, 2)).toBe(
      "(:id_0::bigint, :body_0::text), (:id_1::bigint, :body_1::text)",
    );
    const rows = [
      { id: 1, body: "a" },
      { id: 2, body: "b" },
    ];
    expect(toRowValues(rows)).toEqual({ id_0: 1, body_0: "a", id_1: 2, body_1: "b" });
  });
});

it("the tables of outbox and inbox have another version when they change", () => {
  const text = formatTables(nameTables("jobs", dialects.sqlite)).replace(/ --.*/g, "");
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const advice =
    "The tables changed: raise tablesVersion in internal/jobs/tables.ts, correct packages/issuing-outbox/migrations, then correct this line.";
  expect([tablesVersion, digest], advice).toEqual([3, "385289fdc2c6e406"]);
});

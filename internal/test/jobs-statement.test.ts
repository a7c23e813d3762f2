/** Named parameters of the engine's statements. */
import { describe, expect, it } from "vitest";
import { formatRows, getValue, replaceParameters, toRowValues } from "../jobs/statement.ts";

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

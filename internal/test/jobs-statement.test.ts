/** Named parameters of the engine's statements. */
import { describe, expect, it } from "vitest";
import {
  formatRows,
  getType,
  getValue,
  replaceParameters,
  toRowValues,
} from "../jobs/statement.ts";

describe("a parameter", () => {
  it("is a colon and a name, which a cast is not", () => {
    const names: string[] = [];
    const sql = replaceParameters(
      "SELECT :topic::text, due + :delayMs FROM a WHERE x = :id_12",
      (name) => {
        names.push(name);
        return "?";
      },
    );
    expect(sql).toBe("SELECT ?::text, due + ? FROM a WHERE x = ?");
    expect(names).toEqual(["topic", "delayMs", "id_12"]);
  });

  it("has the type of its name, in each row", () => {
    expect(["topic", "id", "id_12", "rank_0"].map(getType)).toEqual([
      "text",
      "bigint",
      "bigint",
      "integer",
    ]);
  });

  it("has a value, which can be null", () => {
    expect(getValue({ id: 0, name: null }, "id")).toBe(0);
    expect(getValue({ id: 0, name: null }, "name")).toBeNull();
    expect(() => getValue({}, "name")).toThrow("no value for :name");
  });

  it("has the number of its row", () => {
    expect(formatRows(["id", "body"], 2)).toBe("(:id_0, :body_0), (:id_1, :body_1)");
    const rows = [
      { id: 1, body: "a" },
      { id: 2, body: "b" },
    ];
    expect(toRowValues(rows)).toEqual({ id_0: 1, body_0: "a", id_1: 2, body_1: "b" });
  });
});

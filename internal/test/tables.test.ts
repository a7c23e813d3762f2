/** The version of the tables of outbox and inbox. */
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { dialects, formatTables, nameTables, tablesVersion } from "../jobs/tables.ts";

it("has another version when the tables of outbox and inbox change", () => {
  const text = formatTables(nameTables("jobs", dialects.sqlite)).replace(/ --.*/g, "");
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  const advice =
    "The tables changed: raise tablesVersion in internal/jobs/tables.ts, correct packages/issuing-outbox/migrations, then correct this line.";
  expect([tablesVersion, digest], advice).toEqual([3, "385289fdc2c6e406"]);
});

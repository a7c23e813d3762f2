/** The module of the pages' files is made from the files. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { inlined } from "../../scripts/static-module.ts";

it("is what `npm run generate` writes", () => {
  const module = readFileSync(new URL("../../src/pages/static-files.ts", import.meta.url), "utf8");
  expect(module).toBe(inlined());
});

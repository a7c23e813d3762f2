/** The common test suite for each adapter. Those that need more than a listener run it in files of their own. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { describeAdapter } from "../adapter-contract.ts";
import { everyAdapter, serving } from "../every-adapter.ts";

for (const { name, suite, listener } of everyAdapter) {
  if (typeof suite === "string") {
    it(`${suite} runs the suite for ${name}`, () => {
      expect(readFileSync(new URL(suite, import.meta.url), "utf8")).toContain("describeAdapter(");
    });
  } else {
    describeAdapter(name, {
      ...suite,
      start: async (options) => serving(await listener(options), "HTTP/1.1"),
    });
  }
}

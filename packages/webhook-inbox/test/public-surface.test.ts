/** The engines that the package declares. */
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

it("allows every major version of an engine that is tested", () => {
  expect(manifest.peerDependencies).toMatchObject({
    bullmq: "^5.66.0 || ^6.0.0", // 5.66 is the first version that resets the attempts of a replayed job
    "pg-boss": "^10.0.0 || ^11.0.0 || ^12.0.0",
  });
});

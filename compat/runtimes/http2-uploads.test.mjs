/** Rejected uploads over HTTP/2, with the tests of the receiver: each major version of Node closes streams in its own way. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const file = "packages/webhook-verify/test/integration/robustness.test.ts";

it.each([22, 24, 26])("gets its response, and its stream is closed: Node %i", async (version) => {
  const node = join(root, `compat/node_modules/node-${version}/bin/node`);
  const { stdout } = await promisify(execFile)(
    node,
    ["node_modules/vitest/vitest.mjs", "run", "--project", "integration", file, "-t", "closes the stream"],
    { cwd: root, env: { PATH: `${dirname(node)}:${process.env.PATH}`, NO_COLOR: "1" }, timeout: 100_000 },
  );
  expect(stdout).toMatch(/Tests +40 passed/);
});

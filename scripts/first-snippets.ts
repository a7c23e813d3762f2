/** Installs the tarballs on each Node that we support, and runs the first snippet of each README there, as ESM and as CommonJS. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Format, transformSync } from "esbuild";
import { type Consumer, expectSaid, openConsumer } from "./consumer.ts";
import { firstSnippet } from "./first-snippet.ts";
import { published, root } from "./published.ts";

const nodes = ["20", "22", "24"];
const snippets = published.map(({ name, folder }) => {
  const readme = join(folder, "README.md");
  const text = existsSync(readme) ? readFileSync(readme, "utf8") : undefined;
  return { name, program: firstSnippet(name, text) };
});

function tryOn(consumer: Consumer, binary: string): void {
  mkdirSync(join(consumer.folder, "pasted"));
  for (const { name, program } of snippets) {
    if (name === "mock-server") {
      asTest(consumer, binary, program);
      continue;
    }
    for (const [format, ending] of [
      ["esm", "mjs"],
      ["cjs", "cjs"],
    ] as [Format, string][]) {
      const file = join(consumer.folder, "pasted", `${name}.${ending}`);
      writeFileSync(file, transformSync(program, { loader: "ts", format }).code);
      expectSaid(
        "works",
        consumer.run(binary, "first-snippet.cjs", name, file),
        `The first snippet of ${name}`,
      );
    }
  }
}

/** The mock server's is a test of somebody's code, which stands beside it in the examples. */
function asTest({ folder, run }: Consumer, binary: string, program: string): void {
  const neighbour = "register-member.ts";
  copyFileSync(join(root, "examples/test-with-mock", neighbour), join(folder, "pasted", neighbour));
  writeFileSync(join(folder, "pasted/sign-up.test.ts"), program);
  run(binary, "node_modules/vitest/vitest.mjs", "run", "--dir", "pasted");
}

for (const node of nodes) {
  const binary = join(root, `compat/node_modules/node-${node}/bin/node`);
  const consumer = openConsumer(binary);
  try {
    consumer.install("express@5", "libsql@0.5", "msw@2", "vitest@4");
    tryOn(consumer, binary);
    console.log(`✓ Node ${consumer.run(binary, "--version").trim()}: ${snippets.length} first snippets work`);
  } finally {
    consumer.close();
  }
}

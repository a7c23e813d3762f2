/**
 * Installs the tarballs on each supported Node, and runs the first program of each README, as ESM and as CommonJS, and the command.
 * From Node 24 on it also runs the programs of the first guide as they are: Node removes the types.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Format, transformSync } from "esbuild";
import { hasEntryPoints, published, root } from "../published.ts";
import { type Consumer, expectOutput, openConsumer, runCommand } from "./consumer.ts";
import { readGuide } from "./first-minute.ts";

const nodes = ["20", "22", "24", "26"];
const nodesWithTypes = ["24", "26"];
const snippets = published.filter(hasEntryPoints).map(({ name, folder }) => {
  const program = /^```ts\r?\n([\s\S]*?)^```/m.exec(readFileSync(join(folder, "README.md"), "utf8"))?.[1];
  if (program === undefined) throw new Error(`packages/${name}/README.md has no program in TypeScript.`);
  return { name, program };
});

function runOn(consumer: Consumer, binary: string): void {
  mkdirSync(join(consumer.folder, "pasted"));
  for (const { name, program } of snippets) {
    if (name === "mock-server") {
      runAsTest(consumer, binary, program);
      continue;
    }
    for (const [format, ending] of [
      ["esm", "mjs"],
      ["cjs", "cjs"],
    ] as [Format, string][]) {
      if (format === "cjs" && /^await /m.test(program)) continue; // CommonJS has no await at the top level
      const file = join(consumer.folder, "pasted", `${name}.${ending}`);
      writeFileSync(file, transformSync(program, { loader: "ts", format }).code);
      expectOutput(
        "works",
        consumer.run(binary, "first-snippet.cjs", name, file),
        `The first snippet of ${name}`,
      );
    }
  }
}

/** The mock server's is a test of a file that stands beside it in the examples. */
function runAsTest({ folder, run }: Consumer, binary: string, program: string): void {
  const neighbour = "register-member.ts";
  copyFileSync(join(root, "examples/testing", neighbour), join(folder, "pasted", neighbour));
  writeFileSync(join(folder, "pasted/sign-up.test.ts"), program);
  run(binary, "node_modules/vitest/vitest.mjs", "run", "--dir", "pasted");
}

/** The shops of Express and Fastify get a sign-up, and the first card is issued, each by `node FILE.ts` under `exec`. */
function runGuide({ folder, run }: Consumer, binary: string): void {
  for (const step of [...readGuide("express"), ...readGuide("fastify")])
    if ("file" in step) writeFileSync(join(folder, step.file), step.content);
  const exec = (...program: string[]) =>
    run(binary, "node_modules/@loyalty-cards/cli/bin.js", "exec", "--quiet", "--", binary, ...program);
  const card = exec("first-card.ts");
  if (!/^card_\w+ http:/.test(card)) throw new Error(`first-card.ts printed: ${card}`);
  for (const file of ["shop-express.ts", "shop-fastify.ts"])
    expectOutput("works", exec("shop.mjs", file), file);
}

for (const node of nodes) {
  const binary = join(root, `compat/node_modules/node-${node}/bin/node`);
  const consumer = openConsumer(binary);
  try {
    consumer.install("express@5", "fastify@5", "libsql@0.5", "msw@2", "vitest@4");
    runOn(consumer, binary);
    runCommand(consumer, binary);
    if (nodesWithTypes.includes(node)) runGuide(consumer, binary);
    const version = consumer.run(binary, "--version").trim();
    console.log(`✓ Node ${version}: ${snippets.length} first snippets and the command work`);
  } finally {
    consumer.close();
  }
}

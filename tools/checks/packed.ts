/** Installs the packed tarballs as a user does, and uses them from ESM, CommonJS and TypeScript. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { expectOutput, openConsumer, runCommand } from "./consumer.ts";

for (const name of ["issuing-client", "webhook-verify"]) {
  const alone = openConsumer();
  try {
    expectOutput(`@loyalty-cards/${name}`, alone.installAlone(name).join(" "), `npm ls of ${name} alone`);
  } finally {
    alone.close();
  }
}
const consumer = openConsumer();

try {
  const compilers = ["5.4", "5.9", "6", "7"].map(
    (version) => `typescript-${version}@npm:typescript@${version}`,
  );
  const tools = [
    ...compilers,
    "@types/node@20",
    "@types/express@5",
    "express@5",
    "fastify@5",
    "msw@2",
    "undici@7",
    "libsql@0.5",
  ];
  consumer.install(...tools);
  cpSync(join(consumer.folder, "types.ts"), join(consumer.folder, "types.cts")); // the same, read as CommonJS

  for (const format of ["esm", "cjs"])
    expectOutput("works", consumer.run(process.execPath, "use.mjs", format), `use.mjs ${format}`);
  for (const version of ["5.4", "5.9", "6", "7"]) {
    for (const [module, resolution] of [
      ["esnext", "bundler"],
      ["node16", "node16"],
    ] as const) {
      const strictly = [
        "--noEmit",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
        "--types",
        "node",
      ];
      const flags = [...strictly, "--module", module, "--moduleResolution", resolution];
      const compile = (...files: string[]) =>
        consumer.run(process.execPath, `node_modules/typescript-${version}/bin/tsc`, ...flags, ...files);
      compile("types.ts", "types.cts");
      if (version === "5.9") compile("--skipLibCheck", "types-msw.ts");
    }
  }
  const help = consumer.npx("@loyalty-cards/mock-server", "--help");
  if (!help.startsWith("Usage: loyalty-cards-mock"))
    throw new Error(`loyalty-cards-mock --help printed: ${help}`);
  const version = consumer.npx("@loyalty-cards/cli", "--version");
  if (!/^\d+\.\d+\.\d+/.test(version)) throw new Error(`loyalty-cards --version printed: ${version}`);
  runCommand(consumer);
  console.log("The packed packages work from ESM, CommonJS and TypeScript 5.4, 5.9, 6 and 7.");
} finally {
  consumer.close();
}

/** `npm run test:server` does what it says, and a test that fails there fails here. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import packageJson from "./package.json" with { type: "json" };

const here = fileURLToPath(new URL(".", import.meta.url));
const bin = fileURLToPath(new URL("../../packages/mock-server/src/hosts/bin.ts", import.meta.url));
const vitest = fileURLToPath(new URL("./vitest.mjs", import.meta.resolve("vitest/package.json")));
const fromSource = ["--conditions=@loyalty-cards/source", "--import", import.meta.resolve("tsx")];

async function exitCodeOf(command: string[]): Promise<number> {
  const child = spawn(process.execPath, [...fromSource, bin, "exec", "--", ...command], {
    cwd: here,
    stdio: "ignore",
    env: { ...process.env, VITEST: undefined, VITEST_POOL_ID: undefined, VITEST_WORKER_ID: undefined },
  });
  return (await once(child, "exit"))[0];
}

it("runs the tests while the service is up, and passes on how they ended", async () => {
  expect(packageJson.scripts["test:server"]).toBe(
    "loyalty-cards-mock exec -- vitest run --config vitest.server.config.ts",
  );
  const run = [process.execPath, vitest, "run", "--config"];
  expect(await exitCodeOf([...run, "vitest.server.config.ts"])).toBe(0);
  expect(await exitCodeOf([...run, "no.config.ts"])).toBe(1);
}, 60_000);

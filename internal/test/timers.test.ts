/** The timers that fake timers of a test do not stop. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { startBackgroundTimer } from "../timers.ts";

it("are those of Node.js, also when a test runner has replaced them before the import", async () => {
  const never = () => 0;
  vi.stubGlobal("setTimeout", never);
  vi.stubGlobal("setImmediate", never);
  const path = "../timers.ts?after-fakes";
  const { setRealImmediate, setRealTimeout } = await import(path).finally(() =>
    vi.unstubAllGlobals(),
  );
  await new Promise((resolve) => setRealImmediate(resolve));
  await new Promise((resolve) => setRealTimeout(resolve, 0));
  expect([setRealImmediate, setRealTimeout]).not.toContain(never);
});

it("keep no process running in the background, and can be cancelled", async () => {
  const path = fileURLToPath(new URL("../timers.ts", import.meta.url));
  const program = `import { startBackgroundTimer } from ${JSON.stringify(path)};
    startBackgroundTimer(3_600_000, () => {});`;
  const loader = ["--conditions=@loyalty-cards/source", "--import", "tsx", "--input-type=module"];
  await promisify(execFile)(process.execPath, [...loader, "--eval", program], { timeout: 30_000 });

  const woken: string[] = [];
  await new Promise<void>((resolve) => {
    startBackgroundTimer(0, () => woken.push("cancelled"))();
    startBackgroundTimer(1, resolve);
  });
  expect(woken).toEqual([]);
});

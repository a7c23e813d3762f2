/** The timers that fake timers of a test do not stop. */
import { expect, it, vi } from "vitest";

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

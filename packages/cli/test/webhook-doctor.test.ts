/** `webhook doctor` against a right receiver and wrong ones. */
import { describe, expect, it } from "vitest";
import { run, secret, start, startReceiver, startResponding } from "./terminal.ts";

const doctor = ["webhook", "doctor", "--timeout", "1"];

describe("webhook doctor", () => {
  it("exits with 0 for a right receiver, and prints one line", async () => {
    const { url, env } = await startReceiver({ timeoutMs: 500 });
    const { code, stdout } = await run([...doctor, url], { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+ checks: \d+ passed\.\n$/)]);
  });

  it("prints all checks with --verbose, in a live terminal too, without the secret", async () => {
    const { url, env } = await startReceiver({ timeoutMs: 500 });
    const { code, stdout, stderr } = await run([...doctor, url, "--verbose"], { env, isTTY: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓.*duplicate/);
    expect(stderr).toMatch(/checks done, the last one: still-responding/);
    expect(stdout + stderr).not.toContain(secret);
  });

  it("says once in 80 columns why a receiver that accepts everything is wrong, what was sent and what to change", async () => {
    const { env } = await startResponding(204);
    const { code, stdout } = await run(doctor, { env });
    expect(code).toBe(1);
    expect(stdout.match(/^✗/gm)).toHaveLength(1);
    expect(stdout).toMatch(
      /✗ forged +responded 204\n {4}Sent: .*\(spec 5\.7\)\.\n {4}Verify .*were not run\.\n/s,
    );
    expect(stdout).toMatch(/\d+ checks: \d+ passed, 1 failed.*\.\n$/);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

it("counts the one check of an address where nothing listens", async () => {
  const env = { LOYALTY_SIGNING_SECRET: secret };
  const { code, stdout } = await run([...doctor, "http://127.0.0.1:1/"], { env });
  expect([code, stdout]).toEqual([1, expect.stringMatching(/\n1 check: 0 passed, 1 failed\.\n$/)]);
});

it("stops at Ctrl-C with 130", async () => {
  const { url, env } = await startReceiver();
  const running = start([...doctor, url, "--verbose"], { env });
  await running.waitFor(/valid/);
  running.interrupt();
  expect((await running.exit).code).toBe(130);
});

it("exits with 2 for an address in the network with http", async () => {
  const env = { LOYALTY_SIGNING_SECRET: secret };
  const { code, stderr } = await run([...doctor, "http://shop.internal/"], { env });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/url must use https/)]);
});

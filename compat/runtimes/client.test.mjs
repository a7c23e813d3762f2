/** The fault matrix, with the built client on every runtime and with each transport. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFaultServer } from "./fault-server.mjs";
import { faults } from "./faults.mjs";
import { otherTransports, runtimes } from "./runtimes.mjs";

const manifest = new URL("../../packages/issuing-client/package.json", import.meta.url);
const userAgent = `loyalty-cards/${JSON.parse(readFileSync(manifest, "utf8")).version}`;
/** The rows without their scripts, which stay with the server. */
const rows = faults.map(({ base, options, abortAfterMs }) => ({ base, options, abortAfterMs }));

let server;
beforeAll(async () => {
  server = await startFaultServer();
});
afterAll(() => server?.close());

describe.each(Object.entries({ ...runtimes, ...otherTransports }))("the client on %s", (runtime, run) => {
  const runId = runtime.replaceAll(" ", "-");
  let results;
  beforeAll(async () => {
    results = await run({ rows, bases: server.bases, run: runId });
  });

  it.each(faults.map((fault, index) => [fault.name, fault, index]))("handles %s", (_name, fault, index) => {
    const result = results[index];
    const received = server.requests.get(`${runId}/${index}`);
    const { expected, expectedByRuntime = {}, runtimeMayRetry = [] } = fault;
    const { atLeastMs = 0, atMostMs = 12_000, ...members } = { ...expected, ...expectedByRuntime[runtime] };
    // A runtime whose own fetch sent a request again has done one of the expected attempts itself.
    const unseen =
      runtimeMayRetry.includes(runtime) && received.attempts === members.attempts
        ? received.attempts - result.attempts
        : 0;
    if (unseen === 1) members.attempts -= unseen;

    expect(result).toMatchObject(members);
    expect(result.tookMs).toBeGreaterThanOrEqual(atLeastMs);
    expect(result.tookMs).toBeLessThanOrEqual(atMostMs);
    if (received === undefined) return;
    expect(received.keys.size, "idempotency keys").toBe(1);
    expect(received.bodies.size, "different bodies").toBeLessThanOrEqual(1);
    expect([...received.userAgents]).toEqual([userAgent]);
    if (result.ok) expect(received.attempts, "requests that arrived").toBe(result.attempts + unseen);
  });
});

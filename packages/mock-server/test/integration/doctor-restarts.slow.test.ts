/** The doctor and receivers that it kills: real processes, killed with SIGKILL between a delivery and its effect. */
import { afterAll, describe, it } from "vitest";
import { check } from "../doctor/doctor-run.ts";
import { bundleProgram } from "../doctor/restartable.ts";

const program = bundleProgram(new URL("../doctor/killed-receiver.ts", import.meta.url));
afterAll(program.remove);

const limits = { effectTimeoutMs: 3_000, recoveryTimeoutMs: 6_000 };

// Concurrent: each run waits most of its time for a second effect that must not appear.
describe.concurrent("the doctor with a probe and restarts", { timeout: 90_000 }, () => {
  it.for([
    ["the effect and the event id in one transaction", "transaction"],
    ["an inbox and a worker", "inbox"],
  ])("passes a receiver with %s", async ([_name, kind = ""], { expect, onTestFinished }) => {
    const receiver = await program.start(kind);
    const { url, restart } = receiver;
    const { passed, flagged, findings } = await check(
      Promise.resolve(receiver),
      { ...limits, probe: url, restart },
      onTestFinished,
    );
    expect(flagged).toEqual([]);
    expect(passed).toBe(true);
    expect(findings.filter(({ check: name }) => name.endsWith("-after-kill"))).toHaveLength(3);
  });

  it.for<[mistake: string, kind: string, required: string[], possible?: string[]]>([
    ["works after the response", "queue in memory", ["fail effect-after-kill"]],
    ["marks an event of its inbox before the effect", "inbox that takes first", ["fail effect-after-kill"]],
    ["marks an event before the effect", "marked before the effect", ["fail effect-after-kill"]],
    ["marks an event after the effect", "marked after the effect", ["fail effect-after-kill"]],
    [
      "deduplicates in memory",
      "dedupe in memory",
      ["fail effect-duplicate-after-kill"],
      ["fail effect-after-kill"], // when a kill falls between an effect and its response
    ],
    ["knows the newest event in memory only", "order in memory", ["fail effect-order-after-kill"]],
    [
      "has everything in memory",
      "everything in memory",
      ["fail effect-after-kill", "fail effect-duplicate-after-kill", "fail effect-order-after-kill"],
    ],
  ])(
    "reports a receiver that %s",
    async ([_mistake, kind, required, possible = []], { expect, onTestFinished }) => {
      const receiver = await program.start(kind);
      const { url, restart } = receiver;
      const { passed, names } = await check(
        Promise.resolve(receiver),
        { ...limits, probe: url, restart },
        onTestFinished,
      );
      expect(names.filter((name) => !possible.includes(name))).toEqual(required);
      expect(passed).toBe(false);
    },
  );
});

/** The doctor and the effects of receivers: nothing is reported for correct handlers, and exactly the mistake of each wrong one. */
import { describe, it } from "vitest";
import type { RunningServer } from "../adapter-contract.ts";
import { check } from "../doctor-run.ts";
import { correctShops, startShop, wrongShops } from "../effect-receivers.ts";
import { secret } from "../signed-delivery.ts";

/** One instant, so that two signatures of one check never differ by the turn of a second. */
const at = Date.now();
const limits = { effectTimeoutMs: 3_000, now: () => at };

const checkEffects = async (
  starting: Promise<RunningServer>,
  onFinished: (close: () => Promise<void>) => void,
  options: Parameters<typeof check>[1] = {},
) => check(starting, { ...limits, probe: (await starting).url, ...options }, onFinished);

// Concurrent: each run waits most of its time for a second effect that must not appear.
describe.concurrent("the doctor with a probe", () => {
  it.for(correctShops)("passes %s", async ([_name, createOptions], { expect, onTestFinished }) => {
    const { passed, flagged, findings } = await checkEffects(startShop(createOptions), onTestFinished);
    expect(flagged).toEqual([]);
    expect(passed).toBe(true);
    expect(findings.filter(({ check: name }) => name.startsWith("effect-"))).toHaveLength(7);
  });

  it.for(wrongShops)(
    "reports a handler that %s, and nothing else",
    async ([_mistake, createOptions, expected], { expect, onTestFinished }) => {
      const { passed, names, flagged } = await checkEffects(startShop(createOptions), onTestFinished);
      expect(names).toEqual(expected);
      expect(passed).toBe(false);
      for (const { advice, clause, observed } of flagged) {
        expect(advice).toMatch(/\.$/);
        expect(clause).toMatch(/^6\.3\./);
        expect(observed).not.toContain(secret);
      }
    },
  );
});

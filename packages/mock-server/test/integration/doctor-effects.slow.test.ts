/** The doctor and the effects of receivers: nothing is reported for correct handlers, and exactly the mistake of each wrong one. */
import { createServer } from "node:http";
import { describe, it } from "vitest";
import { listening, type RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { checkReceiver } from "../../src/doctor/check-receiver.ts";
import { check } from "../doctor/doctor-run.ts";
import { correctShops, type StoredCard, startShop, wrongShops } from "../doctor/effect-receivers.ts";

/** More than the 24 deliveries before the first effect take in the slowest queue of a correct shop, 150 ms each. */
const limits = { effectTimeoutMs: 6_000 };

const checkEffects = async (
  starting: Promise<RunningServer>,
  onFinished: (close: () => Promise<void>) => void,
  options: Parameters<typeof check>[1] = {},
) => check(starting, { ...limits, probe: (await starting).url, ...options }, onFinished);

// Concurrent: each run waits most of its time for a second effect that must not appear.
describe.concurrent("the doctor with a probe", { timeout: 60_000 }, () => {
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

const correct = correctShops[0]?.[1] ?? (() => ({}));

describe.concurrent("the doctor", { timeout: 60_000 }, () => {
  it("examines one card of the caller", async ({ expect, onTestFinished }) => {
    const probed = new Set<string>();
    const onlyKnown = correctShops[3]?.[1] ?? correct;
    const { passed, flagged } = await checkEffects(
      startShop(({ getCard, ...shop }) => {
        const getKnownCard = (id: string) => (id === "card_7" ? getCard(id) : {});
        return onlyKnown({ ...shop, getCard: getKnownCard });
      }),
      onTestFinished,
      {
        cardId: "card_7",
        fetch: (input, init) => {
          const card = new URL(String(input)).searchParams.get("card");
          if (card !== null) probed.add(card);
          return fetch(input, init);
        },
      },
    );
    expect([passed, flagged]).toEqual([true, []]);
    expect(probed).toEqual(new Set(["card_7"]));
  });

  it("reads numbers that an SQL client returns as strings", async ({ expect, onTestFinished }) => {
    const asText = ({ balance, effects }: StoredCard) =>
      balance === undefined ? null : { balance: `${balance}.00`, effects: `${effects}` };
    const { flagged } = await checkEffects(startShop(correct, asText), onTestFinished);
    expect(flagged).toEqual([]);
  });

  it.for<[string, (card: StoredCard) => unknown, RegExp]>([
    ["a list", () => [], /did not respond with an object/],
    [
      "a balance that is not a number",
      () => ({ balance: "many" }),
      /a value of balance that is not a number/,
    ],
    [
      "effects that are not a number",
      () => ({ balance: 1, effects: true }),
      /a value of effects that is not a number/,
    ],
  ])("reports a probe that returns %s", async ([_name, respond, observed], { expect, onTestFinished }) => {
    const { passed, flagged } = await checkEffects(startShop(correct, respond), onTestFinished);
    expect(flagged).toMatchObject([
      { check: "effect-probe", verdict: "fail", observed: expect.stringMatching(observed) },
    ]);
    expect(flagged[0]?.advice).toContain('{ "balance": 120, "effects": 1 }');
    expect(passed).toBe(false);
  });

  it("reports a probe that responds 500, one without JSON, and one that does not run", async ({
    expect,
    onTestFinished,
  }) => {
    const stopped = await listening(createServer());
    await stopped.close();
    const probes: [string, RegExp][] = [
      ["?status=500", /responded 500/],
      ["?status=200", /without JSON/],
    ];
    const running = await listening(
      createServer((request, response) =>
        response.writeHead(Number(/status=(\d+)/.exec(request.url ?? "")?.[1])).end("no"),
      ),
    );
    onTestFinished(async () => void (await running.close()));
    const all = [
      ...probes.map(([query, observed]) => [running.url + query, observed] as const),
      [stopped.url, /did not respond/] as const,
    ];
    await Promise.all(
      all.map(async ([probe, observed]) => {
        const { flagged } = await checkEffects(startShop(correct), onTestFinished, { probe });
        expect(flagged).toMatchObject([{ check: "effect-probe", observed: expect.stringMatching(observed) }]);
      }),
    );
  });

  it("reports the checks that need a restart as not run when the restart fails", async ({
    expect,
    onTestFinished,
  }) => {
    const restart = () => Promise.reject(new Error("exit code 127"));
    const { passed, names, flagged } = await checkEffects(startShop(correct), onTestFinished, { restart });
    expect(passed).toBe(false);
    expect(names).toEqual(["warn effect-after-kill"]);
    expect(flagged[0]?.observed).toBe("was not restarted: exit code 127");
  });

  it("cannot decide about a receiver that accepts nothing again after a restart", async ({
    expect,
    onTestFinished,
  }) => {
    let isLeased = false;
    const { passed, flagged } = await checkEffects(startShop(correct), onTestFinished, {
      recoveryTimeoutMs: 500,
      async restart() {
        isLeased = true;
      },
      fetch: (input, init) =>
        isLeased && init?.method === "POST" ? Promise.reject(new Error("down")) : fetch(input, init),
    });
    expect(flagged.slice(0, 1)).toMatchObject([
      { check: "effect-after-kill", verdict: "warn", observed: expect.stringContaining("did not accept") },
    ]);
    expect(passed).toBe(false);
  });

  it("ends when it is aborted while it waits for an effect", async ({ expect, onTestFinished }) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const running = checkEffects(
      startShop(() => ({ handler: () => {} })),
      onTestFinished,
      {
        effectTimeoutMs: 60_000,
        signal: controller.signal,
        onFinding: ({ check: name }) =>
          name === "effect-probe" && queueMicrotask(() => controller.abort(reason)),
      },
    );
    await expect(running).rejects.toBe(reason);
  });

  it("rejects restart without a probe, and a probe without https", async ({ expect }) => {
    const url = "http://127.0.0.1:9/";
    await expect(checkReceiver({ url, secret, restart: async () => {} })).rejects.toThrow(
      "restart needs probe",
    );
    await expect(checkReceiver({ url, secret, probe: "http://shop.example/" })).rejects.toThrow(
      /^probe must use https/,
    );
  });
});

/** The checks that kill the receiver: accepted deliveries must still have their effect, and only once. */
import { defineEffectChecks, type Examination, failed, passed } from "./effect-checks.ts";
import { type Balance, type Examiner, isSuccess } from "./examiner.ts";

/** Events in flight at a kill: some of them have a response and no effect yet, or an effect and no response. */
const inFlight = 10;

/** When to kill the receiver: while it processes events. */
const moments = ["after the first response", "before the response", "between response and effect"] as const;

export const restartChecks = defineEffectChecks({
  "effect-after-kill": {
    clause: "6.3.3",
    sends: "balances, a kill during their processing, and then again those without a 2xx",
    advice:
      "Store the event durably before you respond (an inbox), and mark it as processed in the transaction of its effect, not before. If the lease of a queue ends later, increase recoveryTimeoutMs.",
    async examine(examiner) {
      for (const moment of moments) {
        const problem = await killDuring(examiner, moment);
        if (problem !== undefined) return problem;
      }
      return passed("had all effects once");
    },
  },
  "effect-duplicate-after-kill": {
    clause: "6.3.3",
    sends: "the events of before the restart again",
    advice:
      "Store the ids of processed events where they survive a restart (an inbox, or markProcessed): those in memory are lost.",
    async examine(examiner) {
      const newest = new Map(examiner.applied.map((balance) => [balance.cardId, balance]));
      const settled: Balance[] = [];
      for (const balance of newest.values()) {
        const { balance: points = 0, effects = 0 } = await examiner.probe.read(balance.cardId);
        settled.push({ ...balance, expected: { balance: points, effects } });
      }
      for (const { event } of examiner.applied) await examiner.deliver(event);
      const changes = await Promise.all(settled.map((balance) => examiner.findChange(balance)));
      const change = changes.find((text) => text !== undefined);
      return change === undefined ? passed("had no further effect") : failed(change);
    },
  },
  "effect-order-after-kill": {
    clause: "6.3.4",
    sends: "a balance that is older than the one of before the restart",
    advice: "Store createdAt of the newest event beside the balance: what is in memory is lost in a restart.",
    async examine({ createCard, createBalance, deliver, findMissing, findChange, restart }) {
      const newest = await createBalance(createCard());
      await deliver(newest.event);
      const missing = await findMissing(newest);
      if (missing !== undefined) return failed(missing);
      await restart();
      const older = await createBalance(newest.cardId, newest.createdAtMs - 1_000);
      await deliver(older.event);
      const change = await findChange(newest, "balance");
      return change === undefined ? passed("kept the newest balance") : failed(change);
    },
  },
});

/** Kills the receiver during deliveries, delivers again what it did not accept, and returns what went wrong. */
async function killDuring(
  examiner: Examiner,
  moment: (typeof moments)[number],
): Promise<Examination | undefined> {
  const effectMs = examiner.getEffectMs();
  if (moment === "between response and effect" && effectMs === 0) return undefined; // the effect precedes the response
  const { createCard, createBalance, createRequest, sendOnce, deliver, hasOwnCards } = examiner;
  const balances: Balance[] = [];
  while (balances.length < (hasOwnCards ? inFlight : 1)) balances.push(await createBalance(createCard()));
  const requests = await Promise.all(balances.map(({ event }) => createRequest(event)));
  const responses = requests.map(async (request) => isSuccess(await sendOnce(request)));
  const settled = Promise.allSettled(responses);
  if (moment === "after the first response") await Promise.race(responses);
  if (moment === "before the response") await examiner.wait(examiner.getResponseMs() / 2);
  if (moment === "between response and effect") {
    await settled;
    await examiner.wait(effectMs / 2);
  }
  await examiner.restart();
  const accepted = (await settled).map((response) => response.status === "fulfilled" && response.value);

  const limitMs = examiner.recoveryTimeoutMs;
  const results = await Promise.all(
    balances.map(async (balance, index) => {
      // The service would retry after a minute; the doctor retries at once.
      if (!accepted[index] && !(await deliver(balance.event, {}, limitMs))) return "not accepted";
      return (await examiner.findMissing(balance, limitMs)) === undefined ? "effect" : "missing";
    }),
  );
  const count = (result: string) => results.filter((each) => each === result).length;
  if (count("missing") > 0) {
    const lost = results.filter((result, index) => result === "missing" && accepted[index]).length;
    return failed(
      `was killed ${moment}, and ${count("missing")} of ${balances.length} events had no effect, ${lost} of them with a 2xx`,
    );
  }
  const withEffect = balances.filter((_balance, index) => results[index] === "effect");
  const changes = await Promise.all(withEffect.map((balance) => examiner.findChange(balance)));
  const change = changes.find((text) => text !== undefined);
  if (change !== undefined) return failed(`was killed ${moment}, and ${change}`);
  if (count("not accepted") === 0) return undefined;
  return {
    verdict: "warn",
    observed: `was killed ${moment}, and did not accept ${count("not accepted")} events again within ${limitMs / 1_000} s`,
    advice:
      "A lease of the killed process may still last: increase recoveryTimeoutMs. If it is none, respond 2xx to what is delivered again.",
  };
}

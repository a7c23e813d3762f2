/** The checks of what the handler does with deliveries: one effect per event, and the newest balance in the end, also after a kill. */
import { type Balance, type Examiner, isSuccess } from "./examiner.ts";
import { type EffectState, probeAdvice } from "./probe.ts";

/** The result of a check of effects: the verdict, and what the receiver did, in words. */
export interface Examination {
  /** `warn`: the check has no result. */
  verdict: "pass" | "fail" | "warn";
  observed: string;
  /** Replaces the advice of the check. */
  advice?: string;
}

export interface EffectCheck {
  /** The clause of the specification. */
  clause: string;
  /** What is sent, in words. */
  sends: string;
  advice: string;
  /** When it fails, the others would prove nothing. */
  isEssential?: true;
  examine: (examiner: Examiner) => Promise<Examination>;
}

const defineEffectChecks = <Name extends string>(all: Record<Name, EffectCheck>): Record<Name, EffectCheck> =>
  all;

const passed = (observed: string): Examination => ({ verdict: "pass", observed });
const failed = (observed: string): Examination => ({ verdict: "fail", observed });

export const effectChecks = defineEffectChecks({
  "effect-probe": {
    clause: "6.3.6",
    sends: "a GET request to the probe",
    advice: probeAdvice,
    isEssential: true,
    async examine({ createCard, probe }) {
      const { balance, effects } = await probe.read(createCard());
      const counted = effects === undefined ? "" : ` and ${effects} effects`;
      return passed(
        balance === undefined ? "has no balance of the card yet" : `has the balance ${balance}${counted}`,
      );
    },
  },
  "effect-missing": {
    clause: "6.3.6",
    sends: "a balance.changed event",
    advice:
      "Check that the handler has a case for balance.changed, that it knows the card (cardId sets it), and that the probe reads what it stores. For a slower worker increase effectTimeoutMs.",
    isEssential: true,
    async examine({ createCard, createBalance, deliver, probe, effectTimeoutMs }) {
      const { cardId, event, before } = await createBalance(createCard());
      const isAccepted = await deliver(event);
      const hasChanged = ({ balance, effects }: EffectState) =>
        balance !== before.balance || effects !== before.effects;
      if (hasChanged(await probe.waitUntil(cardId, hasChanged, effectTimeoutMs)))
        return passed("had an effect");
      return failed(`${isAccepted ? "accepted it" : "did not accept it"}, and stored nothing`);
    },
  },
  "effect-balance": {
    clause: "6.3.4",
    sends: "a balance.changed event whose balance is not the last one plus change",
    advice:
      "Store `balance` of the event instead of adding `change`: events can arrive twice, late or never. When the probe returns `effects`, count each event once.",
    isEssential: true,
    async examine({ createCard, createBalance, deliver, findMissing }) {
      const balance = await createBalance(createCard());
      await deliver(balance.event);
      const missing = await findMissing(balance);
      return missing === undefined ? passed("stored the balance") : failed(missing);
    },
  },
  "effect-duplicate": {
    clause: "6.3.3",
    sends: "an event three times: signed again, and with another delivery id",
    advice:
      "Deduplicate by the id of the event (option dedupe, an inbox, or markProcessed in the transaction of the effect), not by Service-Delivery or the signature.",
    async examine({ createCard, createBalance, deliver, findMissing, findChange }) {
      const balance = await createBalance(createCard());
      await deliver(balance.event);
      const missing = await findMissing(balance);
      if (missing !== undefined) return failed(missing);
      await deliver(balance.event, { secondsAgo: 1 });
      await deliver(balance.event, { deliveryId: `dlv_again_${balance.event.id}` });
      const change = await findChange(balance);
      return change === undefined ? passed("had one effect") : failed(change);
    },
  },
  "effect-concurrent-duplicate": {
    clause: "6.3.3",
    sends: "three events, each five times at once",
    advice:
      "Claim the id of the event in one step (INSERT … ON CONFLICT DO NOTHING, or dedupe.begin) before the effect: between a SELECT and an INSERT the other delivery passes too.",
    async examine({ createCard, createBalance, deliver, findMissing, findChange }) {
      // Three rounds: the first one opens the connections, so its deliveries may arrive one after the other.
      for (let round = 1; round <= 3; round += 1) {
        const balance = await createBalance(createCard());
        const ids = [1, 2, 3, 4, 5].map((number) => `dlv_${number}_${balance.event.id}`);
        await Promise.all(ids.map((deliveryId) => deliver(balance.event, { deliveryId })));
        const wrong = (await findMissing(balance)) ?? (await findChange(balance));
        if (wrong !== undefined) return failed(wrong);
      }
      return passed("had one effect");
    },
  },
  "effect-order": {
    clause: "6.3.4",
    sends: "balances that are a minute and a millisecond older than the stored one, and then eight at once",
    advice:
      "Store a balance only when its createdAt, with milliseconds, is newer than that of the stored one (isNewest), and compare and store in one statement or transaction.",
    async examine({ createCard, createBalance, deliver, findMissing, findChange }) {
      const card = createCard();
      const newest = await createBalance(card);
      await deliver(newest.event);
      const missing = await findMissing(newest);
      if (missing !== undefined) return failed(missing);
      for (const ageMs of [60_000, 1]) {
        const older = await createBalance(card, newest.createdAtMs - ageMs);
        await deliver(older.event);
      }
      const overwritten = await findChange(newest, "balance");
      if (overwritten !== undefined) return failed(overwritten);

      const burst: Balance[] = [];
      for (let count = 0; count < 8; count += 1) burst.push(await createBalance(card));
      const [last, ...others] = burst.reverse() as [Balance, ...Balance[]];
      await Promise.all([last, ...others].map(({ event }) => deliver(event)));
      const other = (await findMissing(last)) ?? (await findChange(last, "balance"));
      return other === undefined ? passed("kept the newest balance") : failed(other);
    },
  },
  "effect-dropped": {
    clause: "6.3.4",
    sends: "a balance after a newer card.added event, and after a newer balance of another card",
    advice:
      "Compare createdAt per card and per kind of data: a newer event of another card or another type must not drop a balance (isNewest has a key for that).",
    async examine({ createCard, createBalance, deliver, findMissing, cardAdded, hasOwnCards }) {
      const balance = await createBalance(createCard());
      await deliver(cardAdded(balance.createdAtMs + 1, balance.cardId));
      const late = hasOwnCards ? [await createBalance(createCard(), balance.createdAtMs - 30_000)] : [];
      for (const each of [balance, ...late]) {
        await deliver(each.event);
        const missing = await findMissing(each);
        if (missing !== undefined) return failed(missing);
      }
      return passed("stored the balance");
    },
  },
});

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

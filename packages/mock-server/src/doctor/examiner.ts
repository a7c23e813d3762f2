/** Delivers balances to the receiver, waits for their effects, and notices when they change afterwards. */
import { type EffectState, ExaminationError, type Probe, pause } from "./probe.ts";
import type { Deliveries, Send, TestRequest, TestResponse } from "./sender.ts";

export interface ExaminerOptions {
  deliveries: Deliveries;
  send: Send;
  sendOnce: Send;
  probe: Probe;
  /** The card of all events. By default each check uses new cards. */
  cardId: string | undefined;
  runId: string;
  effectTimeoutMs: number;
  recoveryTimeoutMs: number;
  restart: (() => Promise<void>) | undefined;
  signal: AbortSignal | undefined;
}

/** A `balance.changed` event, and the state of its card before the event and after one effect of it. */
export interface Balance {
  cardId: string;
  createdAtMs: number;
  event: Record<string, unknown>;
  before: EffectState;
  expected: Required<EffectState>;
}

/** How a delivery differs from the first one of its event. */
export interface Variation {
  deliveryId?: string;
  /** The age of the signature. */
  secondsAgo?: number;
}

export type Examiner = ReturnType<typeof createExaminer>;

const retryPauseMs = 250;
/** How long to watch for a second effect, at least. */
const shortestSettleMs = 1_000;

export function createExaminer(options: ExaminerOptions) {
  const { deliveries, send, probe, cardId, runId, effectTimeoutMs, recoveryTimeoutMs, signal } = options;
  const applied: Balance[] = [];
  let cardCount = 0;
  let balanceCount = 0;
  let newestMs = deliveries.now();
  /** The response times of accepted first deliveries. */
  const responseTimesMs: number[] = [];
  /** The times from the response to the effect; 0 when the first read saw the effect. */
  const effectTimesMs: number[] = [];

  /** A card that no other check uses, unless the caller set the card. */
  function createCard(): string {
    cardCount += 1;
    return cardId ?? `card_doctor_${runId}_${cardCount}`;
  }

  /** At least 10 ms later than every earlier event, so that an event can be created between two others. */
  function getNextTime(): number {
    newestMs = Math.max(newestMs + 10, deliveries.now());
    return newestMs;
  }

  /**
   * Creates an event for the card, by default newer than all earlier ones. Its balance is neither the stored balance nor the stored
   * balance plus `change`, so a handler that adds `change` is noticed.
   */
  async function createBalance(card: string, createdAtMs = getNextTime()): Promise<Balance> {
    const before = await probe.read(card);
    const { balance = 0, effects = 0 } = before;
    balanceCount += 1;
    const next = Math.floor(balance) + 1_000 + 10 * balanceCount;
    return {
      cardId: card,
      createdAtMs,
      event: deliveries.balanceChanged(next, createdAtMs, card),
      before,
      expected: { balance: next, effects: effects + 1 },
    };
  }

  const createRequest = async (
    event: Record<string, unknown>,
    variation: Variation = {},
  ): Promise<TestRequest> => {
    const { secondsAgo = 0, deliveryId = `dlv_${event.id}` } = variation;
    const request = await deliveries.signed(event, deliveries.nowSeconds() - secondsAgo);
    return { ...request, headers: { ...request.headers, "service-delivery": deliveryId } };
  };

  /** Delivers an event, and retries after a 5xx or no response until the limit. Returns whether it was accepted. */
  async function deliver(
    event: Record<string, unknown>,
    variation?: Variation,
    limitMs = effectTimeoutMs,
  ): Promise<boolean> {
    const startedMs = performance.now();
    for (;;) {
      const response = await send(await createRequest(event, variation));
      if (isSuccess(response)) {
        if (variation === undefined) responseTimesMs.push(response.durationMs);
        return true;
      }
      const isRejected = response.status !== undefined && response.status < 500;
      if (isRejected || performance.now() - startedMs >= limitMs) return false;
      await pause(retryPauseMs, signal);
    }
  }

  /** Waits until the event has had its effect. @returns undefined then; a description of the stored state after the limit. */
  async function findMissing(event: Balance, limitMs = effectTimeoutMs): Promise<string | undefined> {
    const { cardId: card, expected } = event;
    const startedMs = performance.now();
    const hasEffect = ({ balance, effects = expected.effects }: EffectState) =>
      balance === expected.balance && effects >= expected.effects;
    const isThere = hasEffect(await probe.read(card));
    const state = isThere ? {} : await probe.waitUntil(card, hasEffect, limitMs);
    if (!isThere && !hasEffect(state)) return `${describeState(state, expected)} after ${limitMs / 1000} s`;
    effectTimesMs.push(isThere ? 0 : performance.now() - startedMs);
    applied.push(event);
    return undefined;
  }

  /**
   * Waits as long as another effect could take to appear. It waits longer when earlier effects appeared after the response, as with an
   * inbox.
   * @returns a description of the effect; undefined when there is none.
   */
  async function findChange(
    { cardId: card, expected }: Balance,
    compared: "balance" | "balance and effects" = "balance and effects",
  ): Promise<string | undefined> {
    const hasChanged = ({ balance, effects = expected.effects }: EffectState) =>
      balance !== expected.balance || (compared !== "balance" && effects > expected.effects);
    const settleMs = Math.min(effectTimeoutMs, Math.max(shortestSettleMs, 2 * Math.max(...effectTimesMs)));
    const state = await probe.waitUntil(card, hasChanged, settleMs);
    return hasChanged(state) ? describeState(state, expected) : undefined;
  }

  /** Kills and starts the receiver, and waits until the probe responds. */
  async function restart(): Promise<void> {
    try {
      await options.restart?.();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new ExaminationError(
        `was not restarted: ${reason}`,
        "Let restart kill the receiver, start it, and resolve or exit with 0.",
      );
    }
    await probe.waitUntil(createCard(), () => true, recoveryTimeoutMs);
  }

  return {
    createCard,
    createBalance,
    createRequest,
    deliver,
    findMissing,
    findChange,
    probe,
    sendOnce: options.sendOnce,
    recoveryTimeoutMs,
    restart,
    effectTimeoutMs,
    cardAdded: deliveries.cardAdded,
    hasOwnCards: cardId === undefined,
    /** The balances whose effect was seen, the newest of a card last. */
    applied: applied as readonly Balance[],
    getResponseMs: () => getMedian(responseTimesMs),
    getEffectMs: () => getMedian(effectTimesMs),
    wait: (ms: number) => pause(ms, signal),
  };
}

export const isSuccess = ({ status }: TestResponse): boolean =>
  status !== undefined && status >= 200 && status < 300;

const getMedian = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

function describeState({ balance, effects }: EffectState, expected: Required<EffectState>): string {
  if (balance === undefined) return "had no balance of the card";
  if (balance !== expected.balance) return `had the balance ${balance} instead of ${expected.balance}`;
  const more = (effects ?? expected.effects) - expected.effects;
  return more < 0 ? "had the balance, and no effect in addition" : `had ${more + 1} effects instead of one`;
}

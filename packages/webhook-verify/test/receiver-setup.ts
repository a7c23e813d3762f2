/** Receivers for tests that use no framework, a test clock, and a promise that a test resolves. */

import { createReceiver, type ReceiverOptions, type ReceiverOutcome } from "../src/index.ts";
import type { ReceivedRequest } from "../src/receiver.ts";
import { type SignedDelivery, secret } from "./signed-delivery.ts";

export function post({ body, headers }: SignedDelivery, overrides: Partial<ReceivedRequest> = {}) {
  return { method: "POST", headers, rawBody: body, ...overrides };
}

/** A receiver that collects its outcomes and its log lines. */
export function createTestReceiver(options: Partial<ReceiverOptions> = {}) {
  const outcomes: ReceiverOutcome[] = [];
  const log: string[] = [];
  const receive = createReceiver({
    secret,
    onOutcome: (outcome) => outcomes.push(outcome),
    log: (line) => log.push(line),
    ...options,
  });
  return { receive, outcomes, log };
}

/** A clock that changes only when a test sets it. */
export function createTestClock(nowMs = 0) {
  const clock = { nowMs, now: () => clock.nowMs, monotonicMs: () => clock.nowMs };
  return clock;
}

/** `opened` resolves when `open` is called. */
export function createGate() {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Metrics of the client's calls and the receiver's deliveries. */
// #region watching
import {
  createIssuingClient,
  type IssuingClient,
  type IssuingClientOptions,
} from "@loyalty-cards/issuing-client";
import type { Inbox } from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import type { Meter } from "@opentelemetry/api";

export function watchedClient(
  options: IssuingClientOptions,
  meter: Meter,
): IssuingClient {
  const calls = meter.createCounter("loyalty.calls");
  const retries = meter.createCounter("loyalty.retries");
  return createIssuingClient({
    ...options,
    onEvent(event) {
      const { operation } = event;
      if (event.type === "retry")
        retries.add(1, {
          operation,
          "error.type": String(event.status ?? event.code),
        });
      if (event.type === "response")
        calls.add(1, { operation, end: String(event.status) });
      if (event.type === "failure") calls.add(1, { operation, end: event.code });
    },
  });
}

export function watchedReceiver(secret: string, inbox: Inbox, meter: Meter) {
  const deliveries = meter.createCounter("loyalty.deliveries");
  const skew = meter.createHistogram("loyalty.clock_skew", { unit: "s" });
  return fetchReceiver({
    secret,
    inbox,
    onOutcome(result) {
      const reason = "reason" in result ? { reason: result.reason } : {};
      deliveries.add(1, { outcome: result.outcome, ...reason });
      if ("skewSeconds" in result) skew.record(result.skewSeconds);
    },
  });
}
// #endregion

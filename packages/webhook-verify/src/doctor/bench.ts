/** Makes the deliveries of an examination: genuine ones, and the parts from which to make others. */
import type { Secret } from "../secret.ts";
import { signWebhook } from "../sign.ts";
import type { Shipment } from "./send.ts";

export interface BenchOptions {
  secret: Secret;
  toleranceSeconds: number;
  now: () => number;
  /** Part of every event's id, so that no receiver takes this examination for an earlier one. */
  runId: string;
  cardId: string;
  customerId: string;
}

export type Bench = ReturnType<typeof benchOf>;

export function benchOf(options: BenchOptions) {
  const { secret, toleranceSeconds, now, runId, cardId, customerId } = options;
  let made = 0;
  const nowSeconds = () => Math.floor(now() / 1000);

  /** A new event; a ping unless told otherwise, because a ping changes nothing anywhere. */
  function event(members: Record<string, unknown> = {}): Record<string, unknown> {
    made += 1;
    const createdAt = new Date(now()).toISOString();
    return { id: `evt_doctor_${runId}_${made}`, type: "ping", createdAt, data: {}, ...members };
  }

  const headersOf = (body: string | Uint8Array, signature: string | undefined): Record<string, string> => ({
    "content-type": "application/json",
    "service-event": /"type":\s*"([\w.]+)"/.exec(typeof body === "string" ? body : "")?.[1] ?? "ping",
    "service-delivery": `dlv_doctor_${runId}_${made}`,
    ...(signature === undefined ? {} : { "service-signature": signature }),
  });

  return {
    toleranceSeconds,
    nowSeconds,
    event,
    balance: (balance: number, secondsAgo: number) =>
      event({
        type: "balance.changed",
        createdAt: new Date(now() - secondsAgo * 1000).toISOString(),
        data: {
          passId: cardId,
          customerId,
          balance,
          change: 1,
          operation: { id: `op_doctor_${balance}`, type: "purchase" },
        },
      }),
    /** The hex signature of a body by the real secret, or another one. */
    async v1(body: string | Uint8Array, timestamp = nowSeconds(), key: Secret = secret): Promise<string> {
      return (await signWebhook({ rawBody: body, secret: key, timestamp })).split("v1=")[1] as string;
    },
    /** A body under a signature header of one's own making; undefined for none. */
    under: (
      signature: string | undefined,
      body: string | Uint8Array = JSON.stringify(event()),
    ): Shipment => ({
      headers: headersOf(body, signature),
      body,
    }),
    /** A genuine delivery of any body. */
    async genuine(
      body: string | Uint8Array | Record<string, unknown> = event(),
      timestamp = nowSeconds(),
    ): Promise<Shipment & { body: string | Uint8Array }> {
      const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      const signature = await signWebhook({ rawBody: bytes, secret, timestamp });
      return { headers: headersOf(bytes, signature), body: bytes };
    },
  };
}

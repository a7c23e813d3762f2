/**
 * The checks of a receiver: which deliveries are sent, which response is right, the clause of the
 * specification, and what to change otherwise.
 */
import { type Secret, signWebhookSync } from "@loyalty-cards/webhook-verify";

export interface TestRequest {
  /** Default POST. */
  method?: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

export interface ReceiverCheck {
  /** The clause of the specification. */
  clause: string;
  /** The expected status: `4xx` where the example of the specification responds 401. */
  expects: "2xx" | "4xx" | "2xx or 4xx";
  /** Whether the specification allows the wrong response; then the verdict is `warn`. */
  isAdvisory?: true;
  /** Whether it is skipped when `forged` failed, because it would fail for the same reason. */
  isOfSignature?: true;
  /** What to change. */
  advice: string;
  /**
   * The requests by what they are, in words. They are sent in this order, until a response is
   * wrong.
   */
  requests: (deliveries: Deliveries) => Record<string, TestRequest>;
}

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Functions that create signed deliveries. */
export function createDeliveries(secret: Secret, toleranceSeconds: number, passId: string) {
  // The receiver has not seen the ids in an earlier run.
  const runId = crypto.randomUUID().slice(0, 8);
  let count = 0;
  const seconds = () => Math.floor(Date.now() / 1000);
  const sign = (rawBody: string | Uint8Array, timestamp: number, key: Secret = secret) =>
    signWebhookSync({ rawBody, secret: key, timestamp });

  /** The body of a new event. By default a ping, because a ping changes no data of the receiver. */
  function event(members: Record<string, unknown> = {}): string {
    count += 1;
    const createdAt = new Date().toISOString();
    const id = `evt_doctor_${runId}_${count}`;
    return JSON.stringify({ id, type: "ping", createdAt, data: {}, ...members });
  }

  /** A delivery with this signature header, or without one. */
  function withHeader(
    signature: string | undefined,
    body: string | Uint8Array = event(),
  ): TestRequest {
    const type = typeof body === "string" ? /"type":\s*"([\w.]+)"/.exec(body)?.[1] : undefined;
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "service-event": type ?? "ping",
      "service-delivery": `dlv_doctor_${runId}_${count}`,
      ...(signature !== undefined && { "service-signature": signature }),
    };
    return { headers, body };
  }

  return {
    toleranceSeconds,
    event,
    withHeader,
    /**
     * A delivery with a valid signature.
     * @param fromNow when it was signed, in seconds.
     */
    signed: (body: string | Uint8Array = event(), fromNow = 0, key?: Secret) =>
      withHeader(sign(body, seconds() + fromNow, key), body),
    /** A delivery whose header is made of `v1`, the valid signature of its body at `t`. */
    withSignature(createHeader: (t: number, v1: string) => string): TestRequest {
      const body = event();
      const t = seconds();
      const [, v1 = ""] = sign(body, t).split("v1=");
      return withHeader(createHeader(t, v1), body);
    },
    balanceChanged: (balance: number, secondsAgo: number) =>
      event({
        type: "balance.changed",
        createdAt: new Date(Date.now() - secondsAgo * 1000).toISOString(),
        data: {
          passId,
          customerId: "cus_doctor",
          balance,
          change: 1,
          operation: { id: `op_doctor_${runId}_${count}`, type: "purchase" },
        },
      }),
  };
}

const minute = 60;

/** The declared type keeps the published types independent of the compiler version. */
const defineChecks = <Name extends string>(
  all: Record<Name, ReceiverCheck>,
): Record<Name, ReceiverCheck> => all;

/** The checks by name, in the order in which they run. */
export const checks = defineChecks({
  forged: {
    clause: "5.7",
    expects: "4xx",
    advice:
      "Verify the HMAC of the raw body with the signing secret before anything else, for example with verifyWebhook, and respond 401. The other checks of signatures were not run.",
    requests({ signed, event }) {
      const { headers, body } = signed();
      return {
        "a body in which one letter was changed after signing": {
          headers,
          body: String(body).replace("ping", "pinG"),
        },
        "a delivery signed with another secret": signed(
          event(),
          0,
          "not the secret of this receiver",
        ),
      };
    },
  },
  bytes: {
    clause: "5.6",
    expects: "2xx",
    advice:
      "Read the whole body and verify the bytes that arrived: not JSON.stringify of the parsed body, and no text in another encoding than UTF-8.",
    requests({ signed, event }) {
      const data = '{ "10": 1, "2": 12e1, "name": "\\u0041nna \\/" }';
      return {
        "a body with spaces, escapes, the number 12e1 and a final line break": signed(
          `${event().replace('"data":{}', ` "data": ${data} `)}\r\n`,
        ),
        "letters of two, three and four bytes": signed(event({ data: { name: "Łucja 寿司 🎉" } })),
      };
    },
  },
  "duplicate-or-late": {
    clause: "6.3.3",
    expects: "2xx",
    advice:
      "Respond 2xx to an event that you have already, and to one that arrives after a newer one; after any other status the service delivers it again.",
    requests({ signed, event, balanceChanged }) {
      const body = event();
      return {
        "an event": signed(body),
        "the same event again": signed(body),
        "a balance": signed(balanceChanged(10, 0)),
        "a balance that is a minute older than the one before": signed(balanceChanged(9, minute)),
      };
    },
  },
  unknown: {
    clause: "6.2",
    expects: "2xx",
    advice: "Respond 2xx to unknown types and ignore unknown members; look up handlers in a Map.",
    requests: ({ signed, event }) => ({
      "an event type that does not exist yet": signed(event({ type: "card.renamed" })),
      "an event type that is a name of Object.prototype": signed(event({ type: "constructor" })),
      "an event with unknown members": signed(event({ shop: "Praga", data: { more: [1, {}] } })),
    }),
  },
  "wrong-time": {
    clause: "5.7",
    expects: "4xx",
    isOfSignature: true,
    advice:
      "Reject a t that differs from the current time by more than the tolerance: compare the absolute difference. A tolerance of 0, -1 or NaN may have disabled the check.",
    requests: ({ signed, event, toleranceSeconds }) => ({
      "a delivery that is one minute older than the tolerance": signed(
        event(),
        -toleranceSeconds - minute,
      ),
      "a delivery that is one minute too far in the future": signed(
        event(),
        toleranceSeconds + minute,
      ),
    }),
  },
  "missing-signature": {
    clause: "5.8",
    expects: "4xx",
    isOfSignature: true,
    advice: "Respond 401 when the header is missing, before anything else is checked.",
    requests: ({ withHeader }) => ({ "a delivery without a signature": withHeader(undefined) }),
  },
  "malformed-signature": {
    clause: "5.8",
    expects: "4xx",
    isOfSignature: true,
    advice:
      "Reject a header that does not have one t of digits (parseInt accepts too much) and a v1 of 64 hex digits, before you compare: comparisons may throw for other lengths and letters, or stop early.",
    requests({ withSignature }) {
      return {
        "a header without t": withSignature((_t, v1) => `v1=${v1}`),
        "a t of digits followed by letters": withSignature((t, v1) => `t=${t}abc,v1=${v1}`),
        "the first half of a valid signature": withSignature(
          (t, v1) => `t=${t},v1=${v1.slice(0, 32)}`,
        ),
        "64 letters of two bytes": withSignature((t) => `t=${t},v1=${"\u00e9".repeat(64)}`),
      };
    },
  },
  "server-error": {
    clause: "6.3.1",
    expects: "2xx or 4xx",
    advice:
      "Respond 400 to a signed body that is not an event: after a 5xx the service delivers again for nine hours.",
    requests({ signed }) {
      return {
        "a signed body that is empty": signed(""),
        "a signed body that is not UTF-8": signed(Uint8Array.of(0x7b, 0xff, 0x7d)),
      };
    },
  },
  get: {
    clause: "6.1",
    expects: "4xx",
    isAdvisory: true,
    advice: "Accept POST only, and respond 405 to other methods.",
    requests: () => ({ "a GET request": { method: "GET", headers: {} } }),
  },
  "still-responding": {
    clause: "6.3.1",
    expects: "2xx",
    advice:
      "One of the checks above crashed the receiver: find the error in its log, and respond 4xx instead.",
    requests: ({ signed }) => ({ "a ping after all other checks": signed() }),
  },
});

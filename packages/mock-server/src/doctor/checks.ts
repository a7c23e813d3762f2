/** A check of the receiver and how it evaluates responses; the checks with valid deliveries, which have to be accepted. */
import type { Deliveries, Send, TestRequest, TestResponse } from "./sender.ts";

export interface Check {
  /** The clause of the specification. */
  clause: string;
  /** What is sent, in words. */
  sends: string;
  /** Describes what is wrong with a response; undefined when it is correct. */
  evaluate: (response: TestResponse) => string | undefined;
  /** The specification allows it, but it may lose deliveries or exhaust memory. */
  isAdvisory?: true;
  /** What to change; a function when that depends on the response. */
  advice: string | ((response: TestResponse, deliveries: Deliveries, send: Send) => Promise<string>);
  createRequests: (deliveries: Deliveries) => Promise<TestRequest[]>;
}

/** 2xx. */
export const expectSuccess = expectStatus(2);
/** 4xx; the example of the specification responds 401. */
export const expectRejection = expectStatus(4);
export const expectNoServerError = expectStatus(2, 4);

function expectStatus(...expected: number[]): Check["evaluate"] {
  return (response) => {
    const { status } = response;
    if (status === undefined) return describeResponse(response);
    const statusClass = Math.floor(status / 100);
    if (statusClass === 0 || statusClass === 3)
      return `responded ${status}, and the service does not follow redirects`; // spec 6.3.5
    return expected.includes(statusClass) ? undefined : describeResponse(response);
  };
}

export function describeResponse({ status, error, durationMs }: TestResponse): string {
  if (status !== undefined) return `responded ${status}`;
  return error === "timeout"
    ? `did not respond in ${Math.round(durationMs)} ms`
    : "closed the connection without a response";
}

/** One request for each of several values. */
export const mapAll = <Value>(
  values: readonly Value[],
  createRequest: (value: Value) => TestRequest | Promise<TestRequest>,
): Promise<TestRequest[]> => Promise.all(values.map(createRequest));

/** Checks by name. The declared type keeps the published types independent of the compiler version. */
export const defineChecks = <Name extends string>(all: Record<Name, Check>): Record<Name, Check> => all;

const utf8 = new TextEncoder();

export const acceptanceChecks = defineChecks({
  valid: {
    clause: "6.3.1",
    sends: "a ping as the service signs it",
    evaluate: expectSuccess,
    advice: getAdvice,
    createRequests: async (deliveries) => [await deliveries.signed()],
  },
  bytes: {
    clause: "5.6",
    sends: "a body with spaces, escapes, the number 12e1 and a final line break",
    evaluate: expectSuccess,
    advice: "Verify the bytes that arrived, not JSON.stringify of the parsed body.",
    createRequests: async (deliveries) => {
      const { id, createdAt } = deliveries.event();
      const data = '{ "10": 1, "2": 12e1, "name": "\\u0041nna \\/" }';
      return [
        await deliveries.signed(
          `{ "id": "${id}", "type": "ping", "createdAt": "${createdAt}", "data": ${data} }\r\n`,
        ),
      ];
    },
  },
  unicode: {
    clause: "5.6",
    sends: "letters of two, three and four bytes",
    evaluate: expectSuccess,
    advice: "Read the body as bytes; if it must be a string, decode it as UTF-8.",
    createRequests: async (deliveries) => [
      await deliveries.signed(deliveries.event({ data: { name: "Łucja 寿司 🎉" } })),
    ],
  },
  "chunked-body": {
    clause: "5.6",
    sends: "a body in three chunks, with pauses between them",
    evaluate: expectSuccess,
    advice: "Read the whole body before you verify it.",
    createRequests: async (deliveries) => {
      const { headers, body } = await deliveries.signed();
      const bytes = utf8.encode(body as string);
      const third = Math.ceil(bytes.byteLength / 3);
      async function* chunks() {
        for (let start = 0; start < bytes.byteLength; start += third) {
          yield bytes.subarray(start, start + third);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      return [{ headers, body: chunks }];
    },
  },
  "within-tolerance": {
    clause: "5.7",
    sends: "deliveries signed in the past and in the future, one minute within the tolerance",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice: "Use a tolerance of 300 seconds in both directions, and synchronize the clock.",
    createRequests: (deliveries) => {
      const offset = Math.max(0, deliveries.toleranceSeconds - 60);
      return mapAll([-offset, offset], (seconds) =>
        deliveries.signed(deliveries.event(), deliveries.nowSeconds() + seconds),
      );
    },
  },
  duplicate: {
    clause: "6.3.3",
    sends: "the same event twice",
    evaluate: expectSuccess,
    advice:
      "Respond 2xx to an event that you have already; after any other status the service delivers it again.",
    createRequests: (deliveries) => {
      const event = deliveries.event();
      return mapAll([1, 2], () => deliveries.signed(event));
    },
  },
  "out-of-order": {
    clause: "6.3.4",
    sends: "two balances of one card, the newer one first",
    evaluate: expectSuccess,
    advice: "Respond 2xx to an event that arrives late, and ignore it when you have a newer one.",
    createRequests: (deliveries) =>
      mapAll([0, 60], (secondsAgo) =>
        deliveries.signed(
          deliveries.balanceChanged(10 - secondsAgo / 60, deliveries.now() - secondsAgo * 1000),
        ),
      ),
  },
  "unknown-type": {
    clause: "6.2",
    sends: "event types that do not exist yet, and names of Object.prototype",
    evaluate: expectSuccess,
    advice: "Respond 2xx to unknown types, and look up handlers in a Map.",
    createRequests: (deliveries) =>
      mapAll(["card.renamed", "constructor", "__proto__"], (type) =>
        deliveries.signed(deliveries.event({ type })),
      ),
  },
  "extra-members": {
    clause: "6.1",
    sends: "an event with unknown members",
    evaluate: expectSuccess,
    advice: "Ignore unknown members instead of rejecting the event.",
    createRequests: async (deliveries) => [
      await deliveries.signed(deliveries.event({ shop: "Praga", data: { more: [1, {}] } })),
    ],
  },
  "ping-data": {
    clause: "6.2",
    sends: "pings whose data is absent, null and a list: the data of a ping is not specified",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice:
      "Respond 2xx to an event whatever its data is: an event that you reject is lost after the last retry.",
    createRequests: (deliveries) =>
      mapAll([undefined, null, [7]], (data) => deliveries.signed(deliveries.event({ data }))),
  },
  "content-type": {
    clause: "6.1",
    sends: "application/json with a charset",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice: "Ignore the content type: the signature authenticates the delivery.",
    createRequests: async (deliveries) => {
      const { headers, body } = await deliveries.signed();
      return [{ headers: { ...headers, "content-type": "application/json; charset=utf-8" }, body }];
    },
  },
  "unknown-pairs": {
    clause: "9",
    sends: "a header with a pair of another name, and with spaces after the commas",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice: "Split the header at commas, trim, and ignore names other than t and v1.",
    createRequests: (deliveries) => deliveries.withSignatures((t, v1) => [`t=${t}, v2=00, v1=${v1}`]),
  },
  "two-signatures": {
    clause: "9",
    sends: "two v1, of which the second is valid",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice: "Compare every v1: during a rotation of the secret there may be two.",
    createRequests: (deliveries) =>
      deliveries.withSignatures((t, v1) => [`t=${t},v1=${"0".repeat(64)},v1=${v1}`]),
  },
  "upper-case-hex": {
    clause: "5.5",
    sends: "a signature in upper-case hex",
    evaluate: expectSuccess,
    isAdvisory: true,
    advice: "Compare the bytes of the signature, not the text.",
    createRequests: (deliveries) => deliveries.withSignatures((t, v1) => [`t=${t},v1=${v1.toUpperCase()}`]),
  },
});

/** What to check when a valid delivery is not accepted, by the status of the response. */
const adviceByStatus: Readonly<Record<number, string>> = {
  400: "The receiver did not find an event in the body: give it the bytes as they arrived, before any parser such as express.json() or bodyParser().",
  401: "The signature did not match. Check that the receiver has the secret of this endpoint, and that no parser such as express.json() reads or changes the body before it. The receiver's log names the reason.",
  403: "Something in front of the receiver rejects the request: exempt this path from CSRF protection, bot protection and logins. The signature authenticates a delivery.",
  404: "Nothing responds to POST at this address: check the path with all prefixes, and the method. In Express, expressReceiver without handler, afterResponse or inbox needs a handler after it.",
  405: "The path exists and does not accept POST: mount the receiver for POST, and check the path.",
  408: "The body did not reach the receiver: check for a parser that reads it first, or a proxy that delays it.",
  413: "A limit in front of the receiver is below a few hundred bytes: raise the proxy's or the parser's limit.",
  415: "Something in front of the receiver rejects application/json: exempt this path from checks of the content type.",
  419: "CSRF protection rejects the request: exempt this path from it. The signature authenticates a delivery.",
  429: "A rate limiter rejects the request: exempt this path from it.",
  500: "The receiver failed: read its log. Most often a parser such as express.json() or bodyParser() read the body before it, or it has no secret.",
  502: "The proxy did not reach the receiver: check that it runs, and the address and port that the proxy sends to.",
  503: "The receiver could not store the event, or took too long: its log says what handler or the inbox threw. A proxy without a running receiver responds 503 too.",
  504: "The receiver did not respond to the proxy in time: respond first and work afterwards, and check the address that the proxy sends to.",
};

async function getAdvice(
  { status, error }: TestResponse,
  deliveries: Deliveries,
  send: Send,
): Promise<string> {
  if (status === undefined) {
    return error === "timeout"
      ? "Respond first and work afterwards: the service waits 10 seconds. A receiver behind a parser that has read the body may wait for it forever."
      : "Nothing listens there, or the connection was closed: check that the receiver runs, the host, the port, and the TLS certificate.";
  }
  if (status < 400) {
    return "Use the address that it redirects to, because the service does not follow redirects. If that is a login page, exempt this path from logins.";
  }
  if ([400, 401, 415, 500].includes(status)) {
    const { headers, body } = await deliveries.signed();
    const unparsed = { headers: { ...headers, "content-type": "application/octet-stream" }, body };
    if (expectSuccess(await send(unparsed)) === undefined) {
      return "A parser reads the body before the receiver: the same delivery is accepted with another content type than JSON. Mount the receiver above express.json(), bodyParser() and the like, or skip its path in them.";
    }
  }
  return (
    adviceByStatus[status] ??
    "Respond 2xx to a valid delivery: read the receiver's log, and check what runs in front of it."
  );
}

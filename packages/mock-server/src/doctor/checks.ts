/** The battery: what is sent to the receiver, which response is right, and what to change otherwise. */
import type { CreateHeader, Deliveries, TestRequest, TestResponse } from "./deliveries.ts";

export interface Check {
  /** The clause of the specification. */
  clause: string;
  /** 2xx; 4xx, where the example of the specification responds 401; either; or any end within the timeout. */
  expects: "2xx" | "4xx" | "2xx or 4xx" | "any";
  /** The specification allows it, but it may lose deliveries or exhaust memory. */
  isAdvisory?: true;
  /** It is not run when `forged` failed, because it would fail for the same reason. */
  isOfSignature?: true;
  /** What to change. */
  advice: string;
  /** The requests by what they are, in words. They are sent in this order, until a response is wrong. */
  createRequests: (deliveries: Deliveries) => Record<string, TestRequest>;
}

/** Describes what is wrong with a response; undefined when it is correct. */
export function findMistake(
  response: TestResponse,
  expects: Check["expects"],
  request?: TestRequest,
): string | undefined {
  const { status, error } = response;
  const statusClass = status === undefined ? String(error) : `${Math.floor(status / 100)}xx`;
  if (statusClass === "0xx" || statusClass === "3xx")
    return `responded ${status}, and the service does not follow redirects`; // spec 6.3.5
  const isRight = expects === "any" ? error !== "timeout" : expects.includes(statusClass);
  return isRight ? request?.findMistake?.() : describeResponse(response);
}

export function describeResponse({ status, error, durationMs }: TestResponse): string {
  if (status !== undefined) return `responded ${status}`;
  return error === "timeout"
    ? `did not respond in ${Math.round(durationMs)} ms`
    : "closed the connection without a response";
}

/** Requests by what they are, one for each of several values. */
const createEach = <Value>(
  values: Readonly<Record<string, Value>>,
  createRequest: (value: Value) => TestRequest,
): Record<string, TestRequest> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, createRequest(value)]));

const utf8 = new TextEncoder();

const toChunks = (text: string): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async start(controller) {
      for (const chunk of text.match(/.{1,50}/gs) ?? []) {
        controller.enqueue(utf8.encode(chunk));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      controller.close();
    },
  });

const minute = 60;
const year = 365 * 86_400;
const oversizedBytes = 16 * 1024 * 1024;

/** The declared type keeps the published types independent of the compiler version. */
const defineChecks = <Name extends string>(all: Record<Name, Check>): Record<Name, Check> => all;

/** By name, in the order in which they run. */
export const checks = defineChecks({
  forged: {
    clause: "5.7",
    expects: "4xx",
    advice:
      "Verify the HMAC of the raw body with the signing secret before anything else, for example with createReceiver, and respond 401. The other checks of signatures were not run.",
    createRequests({ signed, createEvent }) {
      const { headers, body } = signed();
      const changed = String(body).replace("ping", "pinG");
      return {
        "a body in which one letter was changed after signing": { headers, body: changed },
        "a delivery signed with another secret": signed(createEvent(), 0, "not the secret of this receiver"),
      };
    },
  },
  bytes: {
    clause: "5.6",
    expects: "2xx",
    advice:
      "Read the whole body and verify the bytes that arrived: not JSON.stringify of the parsed body, and no text in another encoding than UTF-8.",
    createRequests({ signed, createEvent }) {
      const { id, createdAt } = createEvent();
      const data = '{ "10": 1, "2": 12e1, "name": "\\u0041nna \\/" }';
      const text = `{ "id": "${id}", "type": "ping", "createdAt": "${createdAt}", "data": ${data} }\r\n`;
      const { headers, body } = signed();
      return {
        "a body with spaces, escapes, the number 12e1 and a final line break": signed(text),
        "letters of two, three and four bytes": signed(createEvent({ data: { name: "Łucja 寿司 🎉" } })),
        "a body in chunks, with pauses between them": { headers, body: toChunks(String(body)) },
      };
    },
  },
  "within-tolerance": {
    clause: "5.7",
    expects: "2xx",
    isAdvisory: true,
    advice: "Use a tolerance of 300 seconds in both directions, and synchronize the clock.",
    createRequests({ signed, createEvent, toleranceSeconds }) {
      const offset = Math.max(0, toleranceSeconds - minute);
      return {
        "a delivery signed in the past, one minute within the tolerance": signed(createEvent(), -offset),
        "a delivery signed in the future, one minute within the tolerance": signed(createEvent(), offset),
      };
    },
  },
  "duplicate-or-late": {
    clause: "6.3.3",
    expects: "2xx",
    advice:
      "Respond 2xx to an event that you have already, and to one that arrives after a newer one; after any other status the service delivers it again.",
    createRequests({ signed, createEvent, balanceChanged }) {
      const event = createEvent();
      return {
        "an event": signed(event),
        "the same event again": signed(event),
        "a balance": signed(balanceChanged(10, 0)),
        "a balance that is a minute older than the one before": signed(balanceChanged(9, minute)),
      };
    },
  },
  unknown: {
    clause: "6.2",
    expects: "2xx",
    advice: "Respond 2xx to unknown types and ignore unknown members; look up handlers in a Map.",
    createRequests: ({ signed, createEvent }) =>
      createEach(
        {
          "an event type that does not exist yet": { type: "card.renamed" },
          "an event type that is a name of Object.prototype": { type: "constructor" },
          "the event type __proto__": { type: "__proto__" },
          "an event with unknown members": { shop: "Praga", data: { more: [1, {}] } },
        },
        (members) => signed(createEvent(members)),
      ),
  },
  unspecified: {
    clause: "9",
    expects: "2xx",
    isAdvisory: true,
    advice:
      "Respond 2xx whatever the data of a ping and the content type are. Split the header at commas, trim, ignore names other than t and v1, and compare the bytes of every v1: during a rotation of the secret there may be two.",
    createRequests({ signed, createEvent, withSignature }) {
      const { headers, body } = signed();
      const typed = { ...headers, "content-type": "application/json; charset=utf-8" };
      const signatures: Record<string, CreateHeader> = {
        "a header with a pair of another name and spaces": (t, v1) => `t=${t}, v2=00, v1=${v1}`,
        "two v1, of which the second is valid": (t, v1) => `t=${t},v1=${"0".repeat(64)},v1=${v1}`,
        "a signature in upper-case hex": (t, v1) => `t=${t},v1=${v1.toUpperCase()}`,
      };
      return {
        "a ping without data": signed(createEvent({ data: undefined })),
        "a ping whose data is null": signed(createEvent({ data: null })),
        "a ping with a list": signed(createEvent({ data: [7] })),
        "application/json with a charset": { headers: typed, body },
        ...createEach(signatures, (createHeader) => withSignature(createHeader)),
      };
    },
  },
  "wrong-time": {
    clause: "5.7",
    expects: "4xx",
    isOfSignature: true,
    advice:
      "Reject a t that is more than 300 seconds old or in the future: compare the absolute difference. A tolerance of 0, -1 or NaN may have disabled the check.",
    createRequests: ({ signed, createEvent, toleranceSeconds }) =>
      createEach(
        {
          "a delivery signed one minute before the tolerance": -toleranceSeconds - minute,
          "a delivery signed one year ago": -year,
          "a delivery signed one minute after the tolerance": toleranceSeconds + minute,
          "a delivery signed one year in the future": year,
        },
        (seconds) => signed(createEvent(), seconds),
      ),
  },
  "missing-signature": {
    clause: "5.8",
    expects: "4xx",
    isOfSignature: true,
    advice: "Respond 401 when the header is missing, before anything else is checked.",
    createRequests: ({ withHeader }) => ({
      "a delivery without a signature": withHeader(undefined),
      "a form with ssl_check=1, without a signature": withHeader(undefined, "ssl_check=1&type=ping"),
    }),
  },
  "malformed-signature": {
    clause: "5.8",
    expects: "4xx",
    isOfSignature: true,
    advice:
      "Reject a header of more than 1 KiB, and one that does not have one t of digits (parseInt and Number accept too much) and a v1 of 64 hex digits, before you compare: comparisons may throw for other lengths and letters, or stop early.",
    createRequests({ withSignature, toleranceSeconds }) {
      const age = toleranceSeconds + year;
      const headers: Record<string, CreateHeader> = {
        "a header without t": (_t, v1) => `v1=${v1}`,
        "an empty t": (_t, v1) => `t=,v1=${v1}`,
        "a t of letters": (_t, v1) => `t=abc,v1=${v1}`,
        "the t NaN": (_t, v1) => `t=NaN,v1=${v1}`,
        "a t of digits followed by letters": (t, v1) => `t=${t}abc,v1=${v1}`,
        "a header without v1": (t) => `t=${t}`,
        "an empty v1": (t) => `t=${t},v1=`,
        "the signature under another name": (t, v1) => `t=${t},v2=${v1}`,
        "the first half of a valid signature": (t, v1) => `t=${t},v1=${v1.slice(0, 32)}`,
        "a valid signature with one more digit": (t, v1) => `t=${t},v1=${v1}0`,
        "64 letters that are not hex digits": (t) => `t=${t},v1=${"g".repeat(64)}`,
        "64 letters of two bytes": (t) => `t=${t},v1=${"\u00e9".repeat(64)}`,
        "a signature header of 4 KiB": (t) => `t=${t}${",v1=00".repeat(700)}`,
      };
      const oldHeaders: Record<string, CreateHeader> = {
        "an old signature with a second, current t": (t, v1) => `t=${t},t=${t + age},v1=${v1}`,
        "a current t before the t of an old signature": (t, v1) => `t=${t + age},t=${t},v1=${v1}`,
      };
      return {
        ...createEach(headers, (createHeader) => withSignature(createHeader)),
        ...createEach(oldHeaders, (createHeader) => withSignature(createHeader, -age)),
      };
    },
  },
  "server-error": {
    clause: "6.3.1",
    expects: "2xx or 4xx",
    advice:
      "Respond 400 to a signed body that is not an event, and use the type in the body, because Service-Event is not signed: after a 5xx the service delivers again for nine hours.",
    createRequests({ signed }) {
      const bodies = {
        "a signed body that is empty": "",
        "a signed list": "[]",
        "a signed body that is not JSON": "hello",
        "a signed body that is not UTF-8": Uint8Array.of(0x7b, 0xff, 0x7d),
      };
      const types = {
        "another type in the Service-Event header": "card.removed",
        "a name of Object.prototype in the Service-Event header": "constructor",
        "__proto__ in the Service-Event header": "__proto__",
      };
      return {
        ...createEach<string | Uint8Array>(bodies, (body) => signed(body)),
        ...createEach(types, (type) => {
          const { headers, body } = signed();
          return { headers: { ...headers, "service-event": type }, body };
        }),
      };
    },
  },
  get: {
    clause: "6.1",
    expects: "4xx",
    isAdvisory: true,
    advice: "Accept POST only, and respond 405 to other methods.",
    createRequests: () => ({ "a GET request": { method: "GET", headers: {} } }),
  },
  "endless-body": {
    clause: "5.7",
    expects: "any",
    isAdvisory: true,
    advice:
      "Stop reading at a limit (1 MiB is enough) and respond 413, and close a connection whose body does not arrive in ten seconds: anyone can send this.",
    createRequests({ signed, withSignature }) {
      const forged = withSignature((t) => `t=${t},v1=${"0".repeat(64)}`);
      const chunk = new Uint8Array(64 * 1024).fill(0x20);
      let sentBytes = -chunk.byteLength; // of a chunk it is known that it was sent when the next one is requested
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        sentBytes += chunk.byteLength;
        if (sentBytes < oversizedBytes) controller.enqueue(chunk);
        else controller.close();
      };
      const { headers, body } = signed();
      const beginning = utf8.encode(String(body).slice(0, 20));
      return {
        "a body of 16 MiB with a forged signature": {
          headers: forged.headers,
          body: new ReadableStream({ pull }, { highWaterMark: 0 }),
          findMistake: () => (sentBytes >= oversizedBytes ? "read it to its end" : undefined),
        },
        "the first 20 bytes of a delivery, and then nothing": {
          headers,
          body: new ReadableStream({ start: (controller) => controller.enqueue(beginning) }),
        },
      };
    },
  },
  "still-responding": {
    clause: "6.3.1",
    expects: "2xx",
    advice:
      "One of the checks above crashed the receiver: find the error in its log, and respond 4xx instead.",
    createRequests: ({ signed }) => ({ "a ping after all other checks": signed() }),
  },
});

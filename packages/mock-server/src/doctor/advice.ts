/** What to change when a receiver does not accept a valid delivery. */
import type { Deliveries, Send, TestResponse } from "./deliveries.ts";

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

export async function findAdvice(
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
    const { headers, body } = deliveries.signed();
    const unparsed = { headers: { ...headers, "content-type": "application/octet-stream" }, body };
    const { status: second = 0 } = await send(unparsed);
    if (second >= 200 && second < 300) {
      return "A parser reads the body before the receiver: the same delivery is accepted with another content type than JSON. Mount the receiver above express.json(), bodyParser() and the like, or skip its path in them.";
    }
  }
  return (
    adviceByStatus[status] ??
    "Respond 2xx to a valid delivery: read the receiver's log, and check what runs in front of it."
  );
}

/** What to change when a receiver does not respond 2xx, or when an address does not respond. */

/** How a receiver responded to a valid delivery, or why there was no response. */
interface FailedDelivery {
  /** Absent when there was no response. 0 for a redirect whose status the runtime hides. */
  status?: number | undefined;
  /** Why there was no response: a name of `adviceByError`, or a code of the connection. */
  error?: string | undefined;
}

/** @param url the address of the receiver. */
export function adviseReceiver({ status, error = "" }: FailedDelivery, url: URL): string {
  if (status === undefined) return adviceByError[error] ?? describeNoResponse(error, url);
  if (status < 400)
    return "Use the address that it redirects to. If that is a login page, exempt this path from logins."; // spec 6.3.5
  return (
    adviceByStatus[status] ??
    "Respond 2xx to a valid delivery: read the receiver's log, and check what runs in front of it."
  );
}

const adviceByError: Readonly<Record<string, string>> = {
  timeout:
    "Respond first and work afterwards: the service waits 10 seconds. A receiver behind a parser that has read the body may wait for it forever.", // spec 6.3.6
  "response-too-large": "The response has more than 1 MiB: respond 204 without a body.",
};

const rejectedInFront =
  "Something in front of the receiver rejects the request: exempt this path from CSRF protection, bot protection, logins, rate limiters and checks of the content type. The signature authenticates a delivery.";

const adviceByStatus: Readonly<Record<number, string>> = {
  400: "The receiver did not find an event in the body: give it the bytes as they arrived, before any parser such as express.json() or bodyParser().",
  401: "The receiver rejects the signature; its log or onOutcome names the reason: another secret than the sender's (LOYALTY_SIGNING_SECRET), a clock that is off by more than the tolerance, or a parser such as express.json() that reads or changes the body before it.",
  403: rejectedInFront,
  404: "Nothing responds to POST at this address: check the path with all prefixes, and the method. In Express, expressReceiver without handler, afterResponse or inbox needs a handler after it.",
  405: "The path exists and does not accept POST: mount the receiver for POST, and check the path.",
  415: rejectedInFront,
  419: rejectedInFront,
  429: rejectedInFront,
  500: "The receiver failed: read its log. If it fails for every delivery, most often a parser such as express.json() or bodyParser() read the body before it, or it has no secret.",
  502: "The proxy did not reach the receiver: check that it runs, and the address and port that the proxy sends to.",
  503: "The receiver could not store the event, or took too long: its log says what handler or the inbox threw. A proxy without a running receiver responds 503 too.",
};

/**
 * What to do when an address did not respond. `network-failure` of the client has the codes that
 * its messages explain.
 * @param code of the system, or the name of the error.
 */
export function describeNoResponse(code: string, { protocol }: URL): string {
  if (/^EPROTO$|^ERR_SSL_(?!.*ALERT)|^HPE_|^HTTPParserError$/.test(code))
    return protocol === "https:"
      ? "That port does not seem to speak https. Use http:// for a program on this machine; otherwise correct the port."
      : "That port does not seem to speak http: correct it, or use https://.";
  if (/CERT|SELF_SIGNED|UNABLE_TO_|TLS|ALERT/.test(code))
    return "Its certificate is not valid for this machine: set NODE_EXTRA_CA_CERTS for a private authority.";
  return adviceByCode[code] ?? "Do the address, a proxy and the firewall permit the connection?";
}

const adviceByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Nothing listens there. Is it running, and is the port correct?",
  ECONNRESET: "It closed the connection without a response: see its log.",
  UND_ERR_SOCKET: "It closed the connection without a response: see its log.",
  ENOTFOUND: "Is the name in the address correct?",
  EAI_AGAIN: "The name could not be looked up: is this machine connected?",
};

/**
 * What the error of a connection means: whether the request may have reached the service, and what
 * to correct.
 */
import { type AttemptFailure, notSent } from "./transport.ts";

/** What failed connections have in common. */
interface Cause {
  /** The codes of their errors. */
  codes?: RegExp;
  /** Their messages: Deno has no codes, and other runtimes lack some. */
  messages?: RegExp;
  /** Not this cause, when the message matches. */
  except?: RegExp;
  /**
   * The connection was not established, so nothing was sent. Otherwise the service may have
   * received the request: the same error can end an established connection.
   */
  isNotConnected?: true;
  /** What to correct. */
  hint?: string;
}

/**
 * The alerts with which a server refuses a TLS handshake (OpenSSL). Those that can also end an
 * established connection, such as an internal error, are left out.
 */
const handshakeAlerts =
  "CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|NO_APPLICATION_PROTOCOL|PROTOCOL_VERSION|UNKNOWN_CA";

/** What OpenSSL says of bytes that are not TLS. */
const plaintextErrors =
  "PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|UNSUPPORTED_PROTOCOL|WRONG_VERSION_NUMBER";

const noService = ": is the service running, and is this address correct?";

/**
 * Every cause is retried: the next attempt may succeed. Their order counts for hints only: the
 * first one that matches gives it.
 */
const causes: readonly Cause[] = [
  {
    // The code of undici has other causes too.
    codes: /^ERR_PROXY_TUNNEL$/,
    messages: /!== 200 when HTTP Tunneling/,
    isNotConnected: true,
    hint: ": the proxy refused to connect to it. Is HTTPS_PROXY correct?",
  },
  {
    codes: /^(CERT|DEPTH|SELF|UNABLE)_[A-Z_]+$/, // OpenSSL
    isNotConnected: true,
    hint: ": its certificate is expired or not trusted. For a private authority set NODE_EXTRA_CA_CERTS.",
  },
  {
    // A proxy can write such a response into an established connection. EPROTO is every error of
    // TLS in Node.js and Bun.
    codes: new RegExp(`^(EPROTO|ERR_SSL_(${plaintextErrors}))$`),
    messages: /corrupt message of type InvalidContentType/,
    except: /alert/i, // only a port that speaks TLS sends one
    hint: ": the response is not TLS. Does this port speak https? Use http:// for the mock service; otherwise correct the port.",
  },
  { codes: /^(ConnectionRefused|ECONNREFUSED|ENOTFOUND)$/, isNotConnected: true, hint: noService },
  { codes: /^EREFUSED$/, hint: noService },
  {
    // Bytes of an earlier response on a kept connection cause the same error.
    codes: /^(HPE_INVALID_CONSTANT|Malformed_HTTP_Response)$/,
    messages: /match the HTTP\/1\.1 protocol|invalid HTTP version/,
    hint: ": the response is not HTTP. Does this port speak http?",
  },
  {
    codes: /^(EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|FailedToOpenSocket)$/,
    messages: /client error \(Connect\)|dns error/,
    isNotConnected: true,
  },
  {
    codes: /^ERR_(INVALID_PROTOCOL|TLS_CERT_ALTNAME_INVALID|SSL_TLSV1_UNRECOGNIZED_NAME)$/,
    messages: /before secure TLS connection was established/,
    isNotConnected: true,
  },
  {
    codes: new RegExp(`^ERR_SSL_(SSLV3|TLSV1|TLSV13)_ALERT_(${handshakeAlerts})$`),
    isNotConnected: true,
  },
];

/** What further codes look like. Only known codes are shown: other text may quote the request. */
const otherCodes = [
  /^E[A-Z]{3,20}$/, // system calls and DNS
  /^EAI_[A-Z]+$/,
  /^ERR_[A-Z\d_]+$/, // Node.js
  /^HPE_[A-Z_]+$/,
  /^UND_ERR_[A-Z_]+$/, // undici
  /^Connection[A-Za-z]+$/, // Bun
];

/**
 * Describes a connection that failed.
 * @param error what the runtime reported. Its message can quote the request or the response, and is
 * dropped.
 * @param wasSent whether the service may have received the request; undefined when only the error
 * can tell.
 */
export function describeNetworkFailure(
  error: unknown,
  { wasSent, baseUrl }: { wasSent: boolean | undefined; baseUrl: string },
): { failure: AttemptFailure } {
  const networkError = readNetworkError(error);
  const { origin } = new URL(baseUrl);
  const networkCode = networkError.code;
  const failure: AttemptFailure = {
    code: "network",
    message: `The connection to ${origin} failed (${networkCode ?? "no code"})${findHint(networkError, origin)}`,
    wasSent: wasSent ?? isConnected(networkError),
    retryable: true,
    networkCode,
  };
  return { failure };
}

/**
 * Describes a request that could not be created: `request` of node:http threw.
 * @param error what it threw. Its message is dropped, because it can quote the request.
 */
export function describeThrownRequest(error: unknown): { failure: AttemptFailure } {
  const { code: networkCode } = readNetworkError(error);
  const message = `The request could not be created (${networkCode ?? "no code"}); nothing was sent. Check what changes node:http for the whole process: a certificate or key of https.globalAgent, an agent or proxy in its place, or a test that blocks the network. Or pass your own fetch.`;
  return notSent(message, networkCode);
}

/** Whether the error can be one of an established connection. */
function isConnected({ code = "", syscall, message }: NetworkError): boolean {
  if (syscall === "connect" || syscall === "getaddrinfo") return false;
  // With another system call, such as "read", the code is of an established connection.
  const codeOfConnect = syscall === undefined ? code : "";
  return !causes.some(
    (cause) => cause.isNotConnected && matches(cause, { code: codeOfConnect, message }),
  );
}

function findHint(networkError: NetworkError, origin: string): string {
  if (origin === "https://cards.mock.test")
    return ": this is a mock service without a port. Either MSW does not listen or does not have its handlers, or a fault was injected; startMockServer() has a port.";
  const { code = "", message } = networkError;
  const cause = causes.find((each) => each.hint && matches(each, { code, message }));
  return cause?.hint ?? ".";
}

function matches(
  { codes, messages, except }: Cause,
  { code, message }: { code: string; message: string },
): boolean {
  const isLike = codes?.test(code) || messages?.test(message);
  return isLike === true && !except?.test(message);
}

interface NetworkError {
  /** The code of the error; undefined when it is not a known one. */
  code: string | undefined;
  /** The system call that failed. */
  syscall: unknown;
  message: string;
}

/** What runtimes throw. */
interface ThrownError {
  code?: unknown;
  cause?: unknown;
  message?: unknown;
  syscall?: unknown;
  /** The errors of the attempts to connect, one for each address of the host. */
  errors?: { syscall?: unknown }[];
}

/** Reads any thrown value. */
function readNetworkError(error: unknown): NetworkError {
  const outer = (error ?? {}) as ThrownError;
  const inner = (outer.cause ?? {}) as ThrownError;
  const innermost = (inner.cause ?? {}) as ThrownError; // undici wraps the refusal of a proxy twice
  const chain = [outer, inner, innermost];
  const { code, syscall, errors } = chain.find((each) => isKnownCode(each.code)) ?? inner;
  return {
    code: isKnownCode(code) ? code : undefined,
    syscall: syscall ?? errors?.[0]?.syscall,
    message: chain.map(({ message }) => message).join(" "),
  };
}

const isKnownCode = (code: unknown): code is string =>
  typeof code === "string" &&
  [...otherCodes, ...causes.map(({ codes }) => codes)].some((pattern) => pattern?.test(code));

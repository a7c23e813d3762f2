/**
 * What the error of a connection means: whether the request may have reached the service, and what
 * to correct.
 */
import { type AttemptFailure, notSent } from "./transport.ts";

/** The codes of certificates that are not trusted (OpenSSL). */
const untrustedCertificate = /^(CERT|DEPTH|SELF|UNABLE)_[A-Z_]+$/;

/** What known codes look like. Only these are shown: other text may quote the request. */
const knownCodes = [
  /^E[A-Z]{3,20}$/, // system calls and DNS
  /^EAI_[A-Z]+$/,
  /^ERR_[A-Z\d_]+$/, // Node.js
  /^HPE_[A-Z_]+$/,
  untrustedCertificate,
  /^UND_ERR_[A-Z_]+$/, // undici
  /^Connection[A-Za-z]+$/, // Bun
  /^FailedToOpenSocket$/,
  /^Malformed_HTTP_Response$/,
];

/**
 * The alerts with which a server refuses a TLS handshake (OpenSSL). Those that can also end an
 * established connection, such as an internal error, are left out.
 */
const handshakeAlerts = ["SSLV3", "TLSV1", "TLSV13"].flatMap((version) => [
  `ERR_SSL_${version}_ALERT_CERTIFICATE_REQUIRED`,
  `ERR_SSL_${version}_ALERT_HANDSHAKE_FAILURE`,
  `ERR_SSL_${version}_ALERT_NO_APPLICATION_PROTOCOL`,
  `ERR_SSL_${version}_ALERT_PROTOCOL_VERSION`,
  `ERR_SSL_${version}_ALERT_UNKNOWN_CA`,
]);

/** The connection was not established, so nothing was sent. */
const notConnected: ReadonlySet<string> = new Set([
  // System calls and DNS
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  // Node.js
  "ERR_INVALID_PROTOCOL",
  "ERR_PROXY_TUNNEL",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  // OpenSSL
  "ERR_SSL_TLSV1_UNRECOGNIZED_NAME",
  ...handshakeAlerts,
  // undici
  "UND_ERR_CONNECT_TIMEOUT",
  // Bun
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

/** What undici says when a proxy does not connect to the service; its code has other causes too. */
const noTunnelMessage = "!== 200 when HTTP Tunneling";

/**
 * Deno has no codes, and Node.js none for a connection that ends during the TLS handshake; their
 * messages name the phase.
 */
const notConnectedMessages = [
  "client error (Connect)",
  "dns error",
  "before secure TLS connection was established",
  noTunnelMessage,
];

/**
 * The response is not TLS. A proxy can write such a response into an established connection, so the
 * service may have received the request.
 */
const notTls: ReadonlySet<string> = new Set([
  // Node.js and Bun, for every error of TLS
  "EPROTO",
  // OpenSSL
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
  "ERR_SSL_UNKNOWN_PROTOCOL",
  "ERR_SSL_UNSUPPORTED_PROTOCOL",
  "ERR_SSL_WRONG_VERSION_NUMBER",
]);

/** Deno's message for a port that does not speak TLS. */
const notTlsMessage = "corrupt message of type InvalidContentType";

/** The response is not HTTP. undici 7 and Deno have no code for it. */
const notHttp: ReadonlySet<string> = new Set(["HPE_INVALID_CONSTANT", "Malformed_HTTP_Response"]);
const notHttpMessages = ["match the HTTP/1.1 protocol", "invalid HTTP version"];

/** Nothing listens at the address. */
const noService: ReadonlySet<string> = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EREFUSED",
]);

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
  const isCodeOfConnect = notConnected.has(code) || untrustedCertificate.test(code);
  if (syscall === undefined && isCodeOfConnect) return false;
  return !includesAny(message, notConnectedMessages);
}

function findHint({ code = "", message }: NetworkError, origin: string): string {
  if (origin === "https://cards.mock.test")
    return ": this is a mock service without a port. Use startMockServer(), or server.listen() of MSW.";
  if (code === "ERR_PROXY_TUNNEL" || message.includes(noTunnelMessage))
    return ": the proxy refused to connect to it. Is HTTPS_PROXY correct?";
  if (untrustedCertificate.test(code))
    return ": its certificate is expired or not trusted. For a private authority set NODE_EXTRA_CA_CERTS.";
  const isAlert = /alert/i.test(message); // only a port that speaks TLS sends one
  if ((notTls.has(code) && !isAlert) || message.includes(notTlsMessage))
    return ": the response is not TLS. Does this port speak https? Use http:// for the mock service; otherwise correct the port.";
  if (noService.has(code)) return ": is the service running, and is baseUrl correct?";
  // Bytes of an earlier response on a kept connection cause the same error, so the service may have
  // received the request.
  if (notHttp.has(code) || includesAny(message, notHttpMessages))
    return ": the response is not HTTP. Does this port speak http?";
  return ".";
}

const includesAny = (text: string, parts: readonly string[]) =>
  parts.some((part) => text.includes(part));

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
  typeof code === "string" && knownCodes.some((pattern) => pattern.test(code));

/** What the error of a connection means: whether the request may have reached the service, and what to correct. */
import type { AttemptFailure } from "./call.ts";

/** Error codes of undici, Node.js, Bun and TLS libraries. */
const knownCode =
  /^(E[A-Z]{3,20}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_[A-Z\d_]+|HPE_[A-Z_]+|CERT_[A-Z_]+|(DEPTH|SELF|UNABLE)_[A-Z_]+|Connection[A-Za-z]+|FailedToOpenSocket|Malformed_HTTP_Response)$/;

/** The connection was not established (name not found, refused, untrusted certificate), so nothing was sent. */
const notConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_[A-Z_]+|ERR_TLS_CERT_ALTNAME_INVALID|ERR_INVALID_PROTOCOL|(DEPTH|SELF|UNABLE)_[A-Z_]+|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno has no codes, and Node.js none for a connection that ends during the TLS handshake; their messages name the phase. */
const notConnectedByMessage =
  /client error \(Connect\)|dns error|before secure TLS connection was established/;

/** Codes of a failed TLS handshake, without the alerts that can also end an established connection, such as an internal error. */
const handshakeFailed =
  /^(EPROTO|ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|UNSUPPORTED_PROTOCOL|(TLSV1|TLSV13|SSLV3)_ALERT_(HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL|CERTIFICATE_REQUIRED|UNKNOWN_CA)|TLSV1_UNRECOGNIZED_NAME))$/;

/** A TLS alert shows that the port speaks https. Deno has a message of its own for a port that does not. */
const tlsAlert = /alert/i;
const notTlsInDeno = /corrupt message of type InvalidContentType/;

/** undici 7 and Deno have no code. */
const notHttp =
  /HPE_INVALID_CONSTANT|Malformed_HTTP_Response|match the HTTP\/1\.1 protocol|invalid HTTP version/;

/**
 * Describes a connection that failed.
 * @param error what the runtime reported. Its message can quote the request or the response, and is dropped.
 * @param hasHead whether the head of a response has arrived.
 */
export function describeNetworkFailure(error: unknown, hasHead: boolean, baseUrl: string): AttemptFailure {
  const { code, syscall, message } = readNetworkError(error);
  const { protocol, origin } = new URL(baseUrl);
  const isHandshake = protocol === "https:" && !hasHead && handshakeFailed.test(code ?? "");
  // Another attempt would fail in the same way.
  const isWrongScheme = (isHandshake && !tlsAlert.test(`${code} ${message}`)) || notTlsInDeno.test(message);
  const isNotConnected =
    isWrongScheme ||
    isHandshake ||
    syscall === "connect" ||
    syscall === "getaddrinfo" ||
    (syscall === undefined && notConnected.test(code ?? "")) ||
    notConnectedByMessage.test(message);
  const shownCode = code ?? "no code";
  let hint = ".";
  // Bytes of an earlier response on a kept connection cause the same code, so the service may have received the request.
  if (notHttp.test(`${code} ${message}`)) hint = ": the response is not HTTP. Does this port speak http?";
  if (/REFUSED|ENOTFOUND/i.test(shownCode)) hint = ": is the service running, and is baseUrl correct?";
  return {
    code: isWrongScheme ? "configuration" : "network",
    message: isWrongScheme
      ? `The TLS handshake failed (${shownCode}): baseUrl is ${origin}, but that port does not seem to speak https. Use http:// for the mock service; otherwise correct the port.`
      : `The connection to ${origin} failed (${shownCode})${hint}`,
    wasSent: hasHead || !isNotConnected,
    retryable: !isWrongScheme,
    networkCode: code,
  };
}

interface NetworkError {
  code?: unknown;
  cause?: unknown;
  message?: unknown;
  syscall?: unknown;
  /** One for each address of the host. */
  errors?: { syscall?: unknown }[];
}

/** Reads any thrown value. Only known codes are returned: other text may quote the request. */
function readNetworkError(error: unknown) {
  const outer = (error ?? {}) as NetworkError;
  const inner = (outer.cause ?? {}) as NetworkError;
  const { code, syscall, errors } = isKnownCode(outer.code) ? outer : inner;
  return {
    code: isKnownCode(code) ? code : undefined,
    syscall: syscall ?? errors?.[0]?.syscall,
    message: `${outer.message} ${inner.message}`,
  };
}

const isKnownCode = (code: unknown): code is string => typeof code === "string" && knownCode.test(code);

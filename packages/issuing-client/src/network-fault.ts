/** What the runtimes tell of a connection that failed, and whether the service can have seen the request. */

export interface NetworkFault {
  /** The runtime's code, when it is one of those known; never any other text, which may quote what was sent. */
  code: string;
  /** Certain only when the connection was never made. */
  wasSent: boolean;
}

/** Codes as undici, Node, Bun and TLS libraries make them. */
const knownForm =
  /^(E[A-Z]{3,20}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_[A-Z_]+|HPE_[A-Z_]+|CERT_[A-Z_]+|(DEPTH|SELF|UNABLE)_[A-Z_]+|Connection[A-Za-z]+|FailedToOpenSocket)$/;

/** Names not found, connections not made, certificates not trusted: nothing has left. */
const connectionNeverMade =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_[A-Z_]+|ERR_TLS_CERT_ALTNAME_INVALID|(DEPTH|SELF|UNABLE)_[A-Z_]+|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno gives no codes, but names the phase. */
const phaseOfDeno = /client error \(Connect\)|dns error/;

export function networkFault(error: unknown, hasStatus: boolean): NetworkFault {
  const { code, syscall, message } = membersOf(error);
  const isConnecting = syscall === undefined || syscall === "connect" || syscall === "getaddrinfo";
  const isNeverMade =
    (connectionNeverMade.test(code ?? "") && isConnecting) ||
    (code === undefined && phaseOfDeno.test(message));
  return { code: code ?? "no code", wasSent: hasStatus || !isNeverMade };
}

/** Reads an error that may be anything, hostile getters included. */
function membersOf(error: unknown): { code?: string; syscall?: string; message: string } {
  try {
    const outer = (error ?? {}) as { code?: unknown; cause?: unknown; message?: unknown; syscall?: unknown };
    const inner = (outer.cause ?? {}) as { code?: unknown; syscall?: unknown; message?: unknown };
    const source = isKnown(outer.code) ? outer : inner;
    return {
      ...(isKnown(source.code) && { code: source.code }),
      ...(typeof source.syscall === "string" && { syscall: source.syscall }),
      message: `${outer.message} ${inner.message}`,
    };
  } catch {
    return { message: "" };
  }
}

const isKnown = (code: unknown): code is string => typeof code === "string" && knownForm.test(code);

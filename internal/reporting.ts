/**
 * Calls listeners of the application, writes log lines, and describes errors without personal data.
 */
import { getBuiltinModule } from "./builtin-module.ts";
import { hasSafeMessage } from "./errors.ts";
import { toPrintable } from "./format.ts";

/**
 * Calls the listener and ignores what it returns. `onError` receives what it throws, or what its
 * promise rejects with.
 * @example
 * ```ts
 * notify(options.onOutcome, outcome, (error) =>
 *   log(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
 * );
 * ```
 */
export function notify<Value>(
  listener: ((value: Value) => unknown) | undefined,
  value: Value,
  onError: (error: unknown) => void = () => {},
): void {
  try {
    const result = listener?.(value);
    // instanceof does not recognize the promises of other realms and libraries.
    if (typeof result === "object" && result !== null && "then" in result)
      Promise.resolve(result).catch(onError);
  } catch (error) {
    onError(error);
  }
}

/** How often a line is logged whose cause lasts. */
export const warningIntervalMs = 600_000;

/** Writes a line: to the console when `log` throws, such as a method without its object. */
export const writeLine = (log: (line: string) => unknown, line: string): void =>
  notify(log, line, (error) =>
    notify(console.error, `${line} (log threw ${formatErrorKind(error)}; it must not throw.)`),
  );

/** Writes log lines that begin with the name of the package. */
export const createLog =
  (name: string, log: (message: string) => void = console.error) =>
  (line: string): void =>
    writeLine(log, `${name}: ${line}`);

interface ReportOptions<Outcome> {
  onOutcome?: (outcome: Outcome) => void;
  log?: (message: string) => void;
}

/**
 * Reports outcomes: to `onOutcome`, and as log lines that begin with the name of the package.
 * @param format returns the line of an outcome; undefined when it is not logged.
 */
export function createReport<Outcome extends { outcome: string }>(
  name: string,
  { onOutcome, log }: ReportOptions<Outcome>,
  format: (outcome: Outcome) => string | undefined,
): (outcome: Outcome) => void {
  /** The last line about an unavailable store, which each poll would repeat. */
  let lastUnavailable: string | undefined;
  const write = createLog(name, log);
  return (outcome) => {
    notify(onOutcome, outcome, (error) =>
      write(`onOutcome threw ${formatErrorKind(error)}; it must not throw.`),
    );
    const line = format(outcome);
    if (line !== undefined && line !== lastUnavailable) write(line);
    lastUnavailable = outcome.outcome === "unavailable" ? line : undefined;
  };
}

const failedListeners = new WeakSet<object>();

/**
 * Writes to the console that a listener threw which no log reports, once for each listener.
 * @param name such as `issuing-client: onEvent`.
 */
export function logListenerError(name: string, listener: object, error: unknown): void {
  if (failedListeners.has(listener)) return;
  failedListeners.add(listener);
  notify(console.error, `${name} threw ${formatErrorKind(error)}; it must not throw.`);
}

/** The name of an error, or the type of what was thrown instead of one. */
export function formatErrorKind(error: unknown): string {
  try {
    if (!(error instanceof Error)) return error === null ? "null" : typeof error;
    return /^[\w$.]{1,60}$/.test(error.name) ? error.name : "Error";
  } catch {
    return "an unreadable error"; // a proxy, or a getter that throws
  }
}

/**
 * Describes an error on one line of a log: its name and code, where the application threw it, and
 * its causes, such as `error 42P01 (undefined table) at src/events.ts:12:5` or
 * `TypeError at src/join.ts:3:1 (cause: Error connect ECONNREFUSED)`. The message of an error that
 * is not ours may quote a customer, so it is added only with `logErrorMessages`.
 */
export function describeError(
  error: unknown,
  options: { logErrorMessages?: boolean } = {},
): string {
  // A variable of the environment can be the text "false".
  const logErrorMessages = options.logErrorMessages === true;
  try {
    if (!(error instanceof Error)) {
      const text = logErrorMessages ? `: ${toPrintable(String(error), maxMessageLength)}` : "";
      return `a thrown ${formatErrorKind(error)}${text}`;
    }
    const [, ...causes] = listCauses(error);
    const frame = [error, ...causes].map(findFrame).find((place) => place !== undefined);
    const where = frame === undefined ? "" : ` at ${frame}`;
    const own = `${formatNameAndCode(error)}${where}${quoteMessage(error, logErrorMessages)}`;
    const others = causes.map(
      (cause) => ` (cause: ${formatNameAndCode(cause)}${quoteMessage(cause, logErrorMessages)})`,
    );
    return [own, ...others].join("");
  } catch {
    return "an unreadable error";
  }
}

/** Describes an error on a log line, and says how to see a message that it leaves out. */
export function describeErrorForLog(
  error: unknown,
  options: { logErrorMessages?: boolean } = {},
): string {
  const failure = describeError(error, options);
  const isComplete = failure === describeError(error, { logErrorMessages: true });
  return isComplete ? failure : `${failure} (logErrorMessages: true adds the message)`;
}

const maxMessageLength = 500;

/** @returns an empty text for a message that may quote a customer. */
function quoteMessage(error: Error, logErrorMessages: boolean): string {
  const isQuoted = logErrorMessages || hasSafeMessage(error);
  return isQuoted && error.message !== ""
    ? `: ${toPrintable(error.message, maxMessageLength)}`
    : "";
}

const maxCauses = 4;

function listCauses(error: Error): Error[] {
  const chain = [error];
  let { cause } = error;
  while (cause instanceof Error && !chain.includes(cause) && chain.length <= maxCauses) {
    chain.push(cause);
    cause = cause.cause;
  }
  return chain;
}

/** A code such as `ECONNREFUSED`, `42P01`, `P2002` or 11000. Other values might be data. */
const codePattern = /^(?=.*[A-Za-z])[\w./-]{1,40}$|^\d{1,5}$/;

/** What a SQLSTATE means, for the mistakes of a program. */
const sqlStates: Readonly<Record<string, string>> = {
  "23502": "not-null violation",
  "23503": "foreign key violation",
  "23505": "unique violation",
  "28000": "invalid authorization",
  "28P01": "invalid password",
  "3D000": "undefined database",
  "42703": "undefined column",
  "42P01": "undefined table",
};

/**
 * Returns the name and the code of an error. For a network error it includes the system call that
 * failed, such as `connect`, and the server.
 */
function formatNameAndCode(error: Error): string {
  const { errors } = error as { errors?: unknown };
  // An AggregateError has one error for each address of a host name.
  const first = ((Array.isArray(errors) && errors[0]) || {}) as NetworkError;
  const { code = first.code, syscall = first.syscall } = error as NetworkError;
  const { hostname, address = first.address, port = first.port } = error as NetworkError;
  const isCode = ["string", "number"].includes(typeof code) && codePattern.test(String(code));
  const isSyscall = typeof syscall === "string" && /^[a-z]{1,20}$/i.test(syscall);
  const meaning = sqlStates[String(code)];
  return [
    formatErrorKind(error),
    isSyscall && syscall,
    isCode && String(code),
    meaning !== undefined && `(${meaning})`,
    formatServer(hostname ?? address, port),
  ]
    .filter(Boolean)
    .join(" ");
}

type NetworkError = NodeJS.ErrnoException & Record<"address" | "port" | "hostname", unknown>;

/** The host, or `host:port`, of a network error; "" when it has none. A path is no host. */
function formatServer(host: unknown, port: unknown): string {
  if (typeof host !== "string" || !/^[\w.:-]{1,255}$/.test(host)) return "";
  return Number.isInteger(port) ? `${host}:${port}` : host;
}

/**
 * A frame of V8, JavaScriptCore in Bun, or Deno. The name of a function has no parenthesis; a path
 * may have some.
 */
const framePattern = /^\s+at (?:async )?(?:[^(\n]* \()?(\S.*:\d+:\d+)\)?$/gm;
const runtimeFrame = /^(?:node|bun|ext|native|evalmachine):|<anonymous>/;
/** Matches a dependency, also a package of ours that is linked into a program. */
const dependencyFrame =
  /[\\/](?:node_modules|\.yarn|deno[\\/]npm|(?:issuing|webhook)-\w+[\\/]dist)[\\/]/;

const maxStackLength = 10_000;

/** The first frame of the application: outside of dependencies and of the runtime. */
function findFrame({ stack = "", message }: Error): string | undefined {
  // Searches only after the message, because a message of several lines can look like a stack.
  if (!stack.includes(message)) return undefined;
  const frames = stack.slice(stack.indexOf(message) + message.length).slice(0, maxStackLength);
  const places = Array.from(frames.matchAll(framePattern), ([, place = ""]) => place);
  const own = places.find((place) => !runtimeFrame.test(place) && !dependencyFrame.test(place));
  return own && toPrintable(shortenPlace(own), 200);
}

/**
 * Returns a path relative to the working folder, else the file and its folder: the rest depends on
 * the machine.
 */
function shortenPlace(place: string): string {
  const process = getBuiltinModule("node:process") as { cwd(): string } | undefined;
  const isUrl = place.startsWith("file://");
  const path = (
    isUrl ? decodeURI(new URL(place).pathname).replace(/^\/(?=[A-Za-z]:)/, "") : place
  ).replaceAll("\\", "/");
  const folder = `${process?.cwd().replaceAll("\\", "/").replace(/\/$/, "")}/`;
  if (path.startsWith(folder)) return path.slice(folder.length);
  const isAbsolute = /^(?:[\w+.-]+:)?\//.test(path);
  return isAbsolute ? `…/${path.split("/").slice(-2).join("/")}` : path;
}

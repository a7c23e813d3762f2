/** The requests and delivery attempts of the mock service, one line each for a terminal of 80 columns. Bursts of the same line are counted. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { formatTime, style, Text, text } from "../printable.ts";

type RequestTraffic = Extract<TrafficEvent, { kind: "request" }>;
type DeliveryTraffic = Extract<TrafficEvent, { kind: "delivery" }>;

export interface TrafficLog {
  add(event: TrafficEvent): void;
  /** Writes the counts of the bursts that go on. */
  end(): void;
}

interface Burst {
  last: TrafficEvent;
  lastAtMs: number;
  /** When the last line of the burst was written. */
  writtenAtMs: number;
  /** How many events came since. */
  count: number;
  /** Whether an event came since the last tick. */
  isActive: boolean;
}

export interface TrafficLogOptions {
  columns: number;
  write: (line: Text) => void;
  /** What must not scroll away: written again, in the first pause after this many lines. */
  header?: { text: Text; afterLines: number };
  nowMs?: () => number;
  /** Calls the function until the returned one is called. Default: twice a second. */
  repeat?: (tick: () => void) => () => void;
}

const tickMs = 500;
/** How often the count of a burst that goes on is written. */
const summaryEveryMs = 10_000;

/**
 * Writes the first line of a burst at once, and later one line with the number of the others. Otherwise a test run would
 * scroll the secret, which `dev` prints first, out of the terminal. What different lines have scrolled out is written again.
 */
export function createTrafficLog({
  columns,
  write: writeText,
  header,
  nowMs = Date.now,
  repeat = repeatEveryTick,
}: TrafficLogOptions): TrafficLog {
  const bursts = new Map<string, Burst>();
  let stop: (() => void) | undefined;
  let linesBelowHeader = 0;

  function write(line: Text): void {
    linesBelowHeader += line.toString().split("\n").length;
    writeText(line);
  }

  function summarize(burst: Burst): void {
    const { last, lastAtMs, writtenAtMs, count } = burst;
    if (count === 1) write(formatTraffic(columns, last, lastAtMs));
    else if (count > 1) {
      const more = `${count} more in ${formatDuration(Math.max(1_000, lastAtMs - writtenAtMs))}`;
      write(formatTraffic(columns, last, lastAtMs, more));
    }
    burst.count = 0;
    burst.writtenAtMs = nowMs();
  }

  function tick(): void {
    for (const [key, burst] of bursts) {
      const isOver = !burst.isActive;
      burst.isActive = false;
      if (isOver || nowMs() - burst.writtenAtMs >= summaryEveryMs) summarize(burst);
      if (isOver) bursts.delete(key);
    }
    if (bursts.size > 0) return;
    stop?.();
    stop = undefined;
    if (header === undefined || linesBelowHeader < header.afterLines) return;
    writeText(header.text);
    linesBelowHeader = 0;
  }

  return {
    add(event) {
      const key = getBurstKey(event);
      const atMs = nowMs();
      const burst = bursts.get(key);
      if (burst !== undefined) {
        burst.count++;
        Object.assign(burst, { last: event, lastAtMs: atMs, isActive: true });
        return;
      }
      bursts.set(key, { last: event, lastAtMs: atMs, writtenAtMs: atMs, count: 0, isActive: true });
      write(formatTraffic(columns, event, atMs));
      stop ??= repeat(tick);
    },
    end() {
      stop?.();
      stop = undefined;
      for (const burst of bursts.values()) summarize(burst);
      bursts.clear();
    },
  };
}

function repeatEveryTick(tick: () => void): () => void {
  const timer = setInterval(tick, tickMs);
  return () => clearInterval(timer);
}

/** The same for events that differ only in their ids and durations. */
function getBurstKey(event: TrafficEvent): string {
  if (event.kind === "request") {
    const { method, path = "", status, fault, reason } = event;
    return JSON.stringify([method, withoutCardId(path), status, fault, reason]);
  }
  const { type, url, status, error, attempt, state } = event;
  return JSON.stringify([type, url, status, error, attempt, state]);
}

const withoutCardId = (path: string) => path.replace(/^(\/api\/v1\/passes\/)[^/]+/, "$1*");

/** Indents continuation lines to the column of the subject. */
const indentation = " ".repeat(24);

/**
 * `12:31:07  201    12 ms  ← POST /templates/tpl_mock/passes  card_8sT2kq`, `12:31:08  204     3 ms  → balance.changed  evt_0mm…`.
 * @param more of a line for several events: how many they are.
 */
function formatTraffic(columns: number, event: TrafficEvent, atMs: number, more?: string): Text {
  const { status, durationMs } = event;
  const isSuccess = status !== undefined && status < (event.kind === "request" ? 400 : 300);
  const columnsBefore = [
    style("dim", formatTime(atMs)),
    style(isSuccess ? "green" : "red", String(status ?? "---")),
    style("dim", (more === undefined ? `${durationMs} ms` : "").padStart(7)),
  ];
  const subject =
    event.kind === "request" ? formatRequest(event, columns, more) : formatDelivery(event, columns, more);
  return Text.join([...columnsBefore, subject], "  ");
}

/** A longer path is not one of the service, and is cut. */
const maxPathLength = 100;

function formatRequest(event: RequestTraffic, columns: number, more: string | undefined): Text {
  const { method, path = "(unreadable address)", reason, cardId } = event;
  const shown = (more === undefined ? path : withoutCardId(path)).replace(/^\/api\/v1/, "");
  const id = more === undefined ? cardId : undefined;
  const first = text`← ${method} ${shown.slice(0, maxPathLength)}${id === undefined ? "" : style("dim", `  ${id}`)}`;
  const details = [reason, more].filter((detail) => detail !== undefined).join("  ");
  if (details === "") return first;
  if (indentation.length + first.width + 2 + details.length <= columns) {
    return text`${first}  ${style("yellow", details)}`;
  }
  return text`${first}\n${style("yellow", Text.from(details).wrap(columns, indentation))}`;
}

function formatDelivery(event: DeliveryTraffic, columns: number, more: string | undefined): Text {
  const { type, eventId, url, attempt, error, state, nextAttemptInMs } = event;
  const first = text`${style("cyan", "→")} ${style("bold", type)}  ${style("dim", more ?? eventId)}`;
  if (state === "delivered") return first;
  const next = nextAttemptInMs === undefined ? "no more" : `next in ${formatDuration(nextAttemptInMs)}`;
  const detail = `attempt ${attempt}, ${next}: ${error === undefined ? "" : `${error} `}${url}`;
  return text`${first}\n${style("yellow", Text.from(detail).wrap(columns, indentation))}`;
}

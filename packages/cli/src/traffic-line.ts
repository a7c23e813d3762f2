/**
 * The requests, delivery attempts and movements of the clock of the mock service: one line each,
 * with the reason of a failure and the warnings below.
 */
import { formatDuration } from "@loyalty-cards/internal/format";
import { formatAddress, parseUrl } from "@loyalty-cards/internal/hostnames";
import { describeNoResponse } from "@loyalty-cards/internal/receiver-advice";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { formatDayAndMinute, formatTime, style, Text, text } from "./printable.ts";
import type { Printer } from "./printer.ts";

type Request = Extract<TrafficEvent, { kind: "request" }>;
type Delivery = Extract<TrafficEvent, { kind: "delivery" }>;
type ClockMovement = Extract<TrafficEvent, { kind: "clock" }>;

/** What is below a line begins in the column of its subject. */
const indentation = " ".repeat(24);
/** A longer path is not one of the service, and is cut. */
const maxPathLength = 100;

/** @param hasSeveral whether there are several receivers: then each delivery names its own. */
export function printTraffic(print: Printer, event: TrafficEvent, hasSeveral: boolean): void {
  const { messageColumns: columns } = print;
  const line =
    event.kind === "clock" ? formatMovement(event) : formatTraffic(event, { columns, hasSeveral });
  print.info(line);
}

/** `12:31:09                clock +6 h → Nov 28 18:31`. */
function formatMovement({ movedMs, now }: ClockMovement): Text {
  const time = formatTime(Date.now()).padEnd(indentation.length);
  const moment = formatDayAndMinute(new Date(now));
  return text`${style("dim", time)}${style("cyan", "clock")} +${formatDuration(movedMs)} → ${moment}`;
}

/**
 * `12:31:07  201    12 ms  ← issueCard  card_8sT2kq`,
 * `12:31:08  204     3 ms  → balance.changed  evt_0mm…`. A reason that does not fit on the line is
 * below it.
 */
function formatTraffic(
  event: Request | Delivery,
  { columns, hasSeveral }: { columns: number; hasSeveral: boolean },
): Text {
  const { status, durationMs } = event;
  const isSuccess = status !== undefined && status < (event.kind === "request" ? 400 : 300);
  const color = isSuccess ? "green" : "red";
  const isProbe = event.kind === "request" && event.sentBy === "doctor"; // it may be meant to fail
  const line = Text.join(
    [
      style("dim", formatTime(Date.now())),
      style(isProbe ? "dim" : color, String(status ?? "---")),
      style("dim", `${durationMs} ms`.padStart(7)),
      event.kind === "request" ? formatRequest(event) : formatDelivery(event, hasSeveral),
    ],
    "  ",
  );
  const reason = event.kind === "request" ? event.reason : describeRetry(event);
  const reasonStyle = isProbe ? "dim" : "yellow";
  const warnings = event.kind === "request" ? (event.warnings ?? []) : [];
  const fits = reason !== undefined && line.width + 2 + reason.length <= columns;
  const below = [
    ...(reason === undefined || fits ? [] : [reason]),
    ...warnings.map((one) => `warning: ${one}`),
  ];
  return Text.lines([
    fits ? text`${line}  ${style(reasonStyle, reason)}` : line,
    ...below.map((detail) => style(reasonStyle, text`${indentation}${detail}`.reflow(columns))),
  ]);
}

/**
 * The name of the operation; of a request to another path, its method and path. And who sent it,
 * unless that was the app.
 */
function formatRequest({ operation, method, path, cardId, sentBy }: Request): Text {
  const shown = path.replace(/^\/api\/v1(?!\/api)/, "").slice(0, maxPathLength);
  const name = operation === undefined ? `${method} ${shown}` : style("bold", operation);
  const facts = [cardId, sentBy && `by the ${sentBy}`].filter((fact) => fact !== undefined);
  return Text.join([text`← ${name}`, ...facts.map((fact) => style("dim", fact))], "  ");
}

/** Several receivers get one event: their addresses differ. With one, the id connects attempts. */
function formatDelivery({ type, eventId, url }: Delivery, hasSeveral: boolean): Text {
  const subject = style("dim", hasSeveral ? formatAddress(url) : eventId);
  return text`${style("cyan", "→")} ${style("bold", type)}  ${subject}`;
}

/** Describes a 404 of a framework, whose page says no more. */
export const describeNoRoute = (url: URL | undefined): string =>
  url === undefined ? "no such route" : `no such route, POST ${url.pathname}`;

/** The start of the response often says why: `signature mismatch`. */
function findCause({ status, error, responseStart, ...event }: Delivery): string | undefined {
  const url = parseUrl(event.url);
  if (status === 404 && error === undefined)
    return `${describeNoRoute(url)}: mount the receiver there`;
  const isSystemCode = error !== undefined && /^[A-Z_]+$/.test(error);
  if (isSystemCode && url !== undefined) return `${error}: ${describeNoResponse(error, url)}`;
  return error ?? responseStart;
}

function describeRetry(event: Delivery): string | undefined {
  const { state, attempt, nextAttemptInMs } = event;
  if (state === "delivered") return undefined;
  const next =
    nextAttemptInMs === undefined ? "no more" : `next in ${formatDuration(nextAttemptInMs)}`;
  const cause = findCause(event);
  return `attempt ${attempt}, ${next}${cause === undefined ? "" : `: ${cause}`}`;
}

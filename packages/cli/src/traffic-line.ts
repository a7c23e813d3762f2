/** The requests and delivery attempts of the mock service: one line each, with the reason of a failure and the warnings below. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { nameVariables } from "./command-error.ts";
import { formatTime, style, Text, text } from "./printable.ts";
import type { Printer } from "./printer.ts";

type Request = Extract<TrafficEvent, { kind: "request" }>;
type Delivery = Extract<TrafficEvent, { kind: "delivery" }>;

/** What is below a line begins in the column of its subject. */
const indentation = " ".repeat(24);
/** A longer path is not one of the service, and is cut. */
const maxPathLength = 100;

export const printTraffic = (print: Printer, event: TrafficEvent): void =>
  print.info(formatTraffic(event, print.columns));

/**
 * `12:31:07  201    12 ms  ← POST /templates/tpl_mock/passes  card_8sT2kq`, `12:31:08  204     3 ms  → balance.changed  evt_0mm…`.
 * A reason that does not fit on the line is below it.
 */
function formatTraffic(event: TrafficEvent, columns: number): Text {
  const { status, durationMs } = event;
  const isSuccess = status !== undefined && status < (event.kind === "request" ? 400 : 300);
  const line = Text.join(
    [
      style("dim", formatTime(Date.now())),
      style(isSuccess ? "green" : "red", String(status ?? "---")),
      style("dim", `${durationMs} ms`.padStart(7)),
      event.kind === "request" ? formatRequest(event) : formatDelivery(event),
    ],
    "  ",
  );
  const reason = event.kind === "request" ? event.reason : describeFailure(event);
  const warnings = event.kind === "request" ? (event.warnings ?? []) : [];
  const fits = reason !== undefined && line.width + 2 + reason.length <= columns;
  const below = [
    ...(reason === undefined || fits ? [] : [reason]),
    ...warnings.map((one) => `warning: ${nameVariables(one)}`),
  ];
  return Text.lines([
    fits ? text`${line}  ${style("yellow", reason)}` : line,
    ...below.map((detail) => style("yellow", text`${indentation}${detail}`.reflow(columns))),
  ]);
}

function formatRequest({ method, path, cardId }: Request): Text {
  const shown = path.replace(/^\/api\/v1(?!\/api)/, "").slice(0, maxPathLength);
  return text`← ${method} ${shown}${cardId === undefined ? "" : style("dim", `  ${cardId}`)}`;
}

const formatDelivery = ({ type, eventId }: Delivery): Text =>
  text`${style("cyan", "→")} ${style("bold", type)}  ${style("dim", eventId)}`;

/** The start of the response often says why: `signature mismatch`. */
function describeFailure({
  state,
  attempt,
  nextAttemptInMs,
  error,
  responseStart,
}: Delivery): string | undefined {
  if (state === "delivered") return undefined;
  const next = nextAttemptInMs === undefined ? "no more" : `next in ${formatDuration(nextAttemptInMs)}`;
  const cause = error ?? responseStart?.replace(/\s+/g, " ");
  return `attempt ${attempt}, ${next}${cause === undefined ? "" : `: ${cause}`}`;
}

/** One line per request and delivery attempt of the mock service, for a terminal of 80 columns. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { TrafficEvent } from "@loyalty-cards/mock-server/node";
import { formatTime, style, Text, text } from "../printable.ts";

type RequestTraffic = Extract<TrafficEvent, { kind: "request" }>;
type DeliveryTraffic = Extract<TrafficEvent, { kind: "delivery" }>;

/** Indents continuation lines to the column of the subject. */
const indentation = " ".repeat(24);

/** `12:31:07  201    12 ms  ← POST /templates/tpl_mock/passes  card_8sT2kq`, `12:31:08  204     3 ms  → balance.changed  evt_0mm…`. */
export function formatTraffic(columns: number, event: TrafficEvent, atMs: number): Text {
  const { status, durationMs } = event;
  const isSuccess = status !== undefined && status < (event.kind === "request" ? 400 : 300);
  const columnsBefore = [
    style("dim", formatTime(atMs)),
    style(isSuccess ? "green" : "red", String(status ?? "---")),
    style("dim", `${durationMs} ms`.padStart(7)),
  ];
  const subject = event.kind === "request" ? formatRequest(event) : formatDelivery(event, columns);
  return Text.join([...columnsBefore, subject], "  ");
}

/** A longer path is not one of the service, and is cut. */
const maxPathLength = 100;

function formatRequest({ method, path = "(unreadable address)", fault, cardId }: RequestTraffic): Text {
  const parts = [
    `← ${method} ${path.replace(/^\/api\/v1/, "").slice(0, maxPathLength)}`,
    cardId ?? "",
    fault ? `${fault} (injected fault)` : "",
  ];
  const [first = "", ...rest] = parts.filter((part) => part !== "");
  return Text.join([first, ...rest.map((part) => style("dim", part))], "  ");
}

function formatDelivery(event: DeliveryTraffic, columns: number): Text {
  const { type, eventId, url, attempt, error, state, nextAttemptInMs } = event;
  const first = text`${style("cyan", "→")} ${style("bold", type)}  ${style("dim", eventId)}`;
  if (state === "delivered") return first;
  const next = nextAttemptInMs === undefined ? "no more" : `next in ${formatDuration(nextAttemptInMs)}`;
  const detail = `attempt ${attempt}, ${next}: ${error === undefined ? "" : `${error} `}${url}`;
  return text`${first}\n${style("yellow", Text.from(detail).wrap(columns, indentation))}`;
}

/** One line per request and delivery attempt of the mock service, for a terminal of 80 columns. */
import { formatDuration, toPrintable } from "@loyalty-cards/internal/format";
import type { DeliveryExchange, Exchange, RequestExchange } from "@loyalty-cards/mock-server/node";
import type { Printer } from "../printer.ts";
import { formatTime, wrapText } from "./text.ts";

type Style = Printer["style"];

/** Below the subject of the line. */
const indentation = " ".repeat(24);

/** `12:31:07  201    12 ms  ← POST /templates/tpl_mock/passes  card_8sT2kq`, `12:31:08  204     3 ms  → balance.changed  evt_0mm…`. */
export function formatExchange({ style, columns }: Printer, exchange: Exchange, atMs: number): string {
  const { status, durationMs } = exchange;
  const isSuccess = status !== undefined && status < (exchange.kind === "request" ? 400 : 300);
  const prefix = [
    style("dim", formatTime(atMs)),
    style(isSuccess ? "green" : "red", String(status ?? "---")),
    style("dim", `${durationMs} ms`.padStart(7)),
  ].join("  ");
  return `${prefix}  ${exchange.kind === "request" ? formatRequest(style, exchange) : formatDelivery(style, exchange, columns)}`;
}

function formatRequest(
  style: Style,
  { method, path = "(unreadable address)", fault, cardId }: RequestExchange,
): string {
  const parts = [
    `← ${method} ${toPrintable(path.replace(/^\/api\/v1/, ""))}`,
    cardId ?? "",
    fault ? `${fault} (injected fault)` : "",
  ];
  const [first = "", ...rest] = parts.filter((part) => part !== "");
  return [first, ...rest.map((part) => style("dim", part))].join("  ");
}

function formatDelivery(style: Style, exchange: DeliveryExchange, columns: number): string {
  const { type, eventId, url, attempt, error, state, nextAttemptInMs } = exchange;
  const first = `${style("cyan", "→")} ${style("bold", type)}  ${style("dim", eventId)}`;
  if (state === "delivered") return first;
  const next = nextAttemptInMs === undefined ? "no more" : `next in ${formatDuration(nextAttemptInMs)}`;
  const detail = `attempt ${attempt}, ${next}: ${error === undefined ? "" : `${error} `}${url}`;
  return `${first}\n${style("yellow", wrapText(detail, columns, indentation))}`;
}

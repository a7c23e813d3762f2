/** Formats one line per API request and per delivery attempt, for a terminal. The lines contain no personal data, keys or secrets. */
import type { Attempt, Delivery } from "../delivery/deliveries.ts";
import type { ServiceResponse } from "../http/response.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";

const maxPathLength = 200;

/** The parts of a request line; `path` is absent when the address is invalid. */
export interface RequestLine {
  method: string;
  path: string | undefined;
  response: ServiceResponse;
  durationMs: number;
}

/** `POST /api/v1/templates/tpl_club/passes 201 12 ms card_8sT2kq`; undefined for pages and the control API, unless the request failed. */
export function formatRequest({ method, path, response, durationMs }: RequestLine): string | undefined {
  const { status, connectionFault } = response;
  const isApi = path?.startsWith("/api/v1/") ?? true;
  if (!isApi && status < 400) return undefined;
  const shownPath = path === undefined ? "(unreadable address)" : path.slice(0, maxPathLength);
  const outcome = connectionFault === undefined ? status : `${connectionFault} (injected fault)`;
  const cardId = isApi && status === 201 ? readId(response.body) : undefined;
  return [method, shownPath, outcome, `${Math.round(durationMs)} ms`, cardId]
    .filter((part) => part !== undefined)
    .join(" ");
}

function readId(body: ServiceResponse["body"]): string | undefined {
  return typeof body === "string" ? JSON.parse(body).id : undefined;
}

/** Calls `onLine` after each delivery attempt, in every sandbox. */
export function listenToDeliveries(sandboxes: Sandboxes, onLine: (line: string) => void): void {
  const seen = new WeakSet<Attempt>();
  const isNew = ({ attempts }: Delivery) => {
    const attempt = attempts.at(-1);
    if (attempt === undefined || seen.has(attempt)) return false;
    seen.add(attempt);
    return true;
  };
  sandboxes.subscribe((sandbox, change) => {
    const { deliveries } = sandbox.domain.state;
    if (change.type === "reset") for (const delivery of deliveries.values()) isNew(delivery);
    if (change.type !== "delivery") return;
    const delivery = deliveries.get(change.id);
    if (delivery !== undefined && isNew(delivery)) onLine(formatDelivery(sandbox, delivery));
  });
}

/** `--> balance.changed evt_0mm…  <-- 401 http://localhost:3000/webhooks next in 1 min`. */
function formatDelivery({ domain }: Sandbox, delivery: Delivery): string {
  const { type, eventId, endpointId, attempts, state, nextAttemptAt } = delivery;
  const { status, error } = attempts.at(-1) as Attempt;
  const endpoint = domain.state.endpoints.get(endpointId);
  const { origin, pathname } = new URL(endpoint?.url ?? "about:blank"); // a query may hold a token
  const next =
    nextAttemptAt !== undefined
      ? ` next ${formatWait(Date.parse(nextAttemptAt) - domain.nowMs())}`
      : state === "failed"
        ? " failed, no further attempt"
        : "";
  return `--> ${type} ${eventId}  <-- ${status ?? error} ${origin}${pathname}${next}`;
}

function formatWait(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds <= 0) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `in ${minutes} min` : `in ${Math.round(minutes / 6) / 10} h`;
}

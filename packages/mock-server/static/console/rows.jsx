/** The rows of the traffic, also of one card: what came, its result, and why. */
import { address, get } from "./api.js";
import { describeAttempt, formatDay, formatTime, formatUntil, isDelivered, toLine } from "./format.js";
import { useReading, useService } from "./service.jsx";

/** @param toAddress returns the address where an entry is open. */
export function Rows({ entries, open = "", toAddress }) {
  const { clock } = useService();
  const hasSeveral = new Set(entries.map(({ url }) => url).filter(Boolean)).size > 1;
  let day = formatDay(clock.now);
  const rows = entries.flatMap((entry) => {
    const earlier = day;
    day = formatDay(entry.at);
    const row = <Row key={entry.id} {...{ entry, open, toAddress, hasSeveral }} />;
    return day === earlier ? [row] : [<li class="day">{day}</li>, row];
  });
  return <ol class="rows traffic">{rows}</ol>;
}

function Row({ entry, open, toAddress, hasSeveral }) {
  const { clock } = useService();
  const { id, kind, at, cardId, warnings = [], nextAttemptAt, url } = entry;
  const [status, isGood] = getStatus(entry);
  return (
    <li>
      <a class="row" id={id} href={toAddress(id)} aria-current={id === open}>
        <time dateTime={at}>{formatTime(at)}</time>
        <span class={`status ${isGood ? "good" : "bad"}`}>{status}</span>
        <span class="way">
          {kind === "request" ? "←" : "→"} <span>{kind === "request" ? "app" : "hook"}</span>
        </span>
        <strong class="name">{getName(entry)}</strong>
        <span class="id">{cardId}</span>
        <span class="result">
          {kind === "delivery" && <Marks {...entry} />}
          {hasSeveral && url && (
            <span class="url">{url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, "")}</span>
          )}
          <span class="text">{kind === "request" ? describeReason(entry) : describeFailure(entry)}</span>
          {nextAttemptAt && <span class="again">again in {formatUntil(nextAttemptAt, clock.now)}</span>}
        </span>
        {warnings.map(({ message }) => (
          <span class="warning">! {message.split(". ")[0]}</span>
        ))}
      </a>
    </li>
  );
}

export const getName = ({ type, operation, method, path }) => type ?? operation ?? `${method} ${path}`;

/** The status, and whether it is a good one. */
export function getStatus({ kind, status, attempts = [] }) {
  if (kind === "request") return [status ?? "—", status < 400];
  const last = attempts.at(-1);
  return last === undefined ? ["…", true] : [last.status ?? "—", isDelivered(last)];
}

/** The first attempt and five retries (spec 3.2). */
const maxAttempts = 6;

/** One character per attempt of the schedule: failed, delivered, or to come. */
function Marks({ attempts, state, failures }) {
  const made = "✕".repeat(failures) + (state === "delivered" ? "✓" : "");
  return (
    <span class="marks" role="img" aria-label={`attempts: ${attempts.length}`}>
      {made.padEnd(maxAttempts, "·")}
    </span>
  );
}

/** `replay` stands in the log for a key that was repeated. */
export const describeReason = ({ reason = "" }) =>
  reason === "replay" ? "same key: the first card again" : reason;

function describeFailure({ attempts, state }) {
  const last = attempts.at(-1);
  if (last === undefined) return "is being sent";
  if (isDelivered(last)) return "";
  const response = last.responseBody ? toLine(last.responseBody) : last.status ? "" : describeAttempt(last);
  return state === "failed" ? `not sent again. ${response}` : response;
}

/** The newest traffic of one card. */
export function CardTraffic({ cardId }) {
  const list = useReading(() => get("traffic", { query: cardId, limit: 20 }), cardId);
  if (list?.items === undefined) return null;
  if (list.total === 0) return <p class="note">No request or webhook names this card yet.</p>;
  return (
    <>
      <Rows entries={list.items} toAddress={(open) => address([], { query: cardId, open })} />
      <p class="note">
        <a href={address([], { query: cardId })}>All traffic of this card ({list.total})</a>
      </p>
    </>
  );
}

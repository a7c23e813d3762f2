/** The rows of the traffic, also of one card: what happened, to whom, and the result. */
import { formatAddress } from "@loyalty-cards/internal/hostnames";
import { toLine } from "@loyalty-cards/internal/response-text";
import { address, get } from "./api.js";
import { Head } from "./controls.jsx";
import { formatUntil } from "./duration.js";
import {
  countEarlier,
  describeAttempt,
  formatDay,
  formatMinute,
  formatTime,
  getMark,
  isDelivered,
} from "./format.js";
import { useReading, useService } from "./polling.jsx";
import { Found } from "./search.jsx";

/** @param toAddress returns the address where an entry is open. */
export function Rows({ entries, open = "", toAddress }) {
  const hasSeveral = new Set(entries.map(({ url }) => url).filter(Boolean)).size > 1;
  const shared = findSharedNames(entries);
  const days = entries.map(({ at }) => formatDay(at));
  // Without a day, all rows are of today.
  const top = new Set(days).size > 1 ? "" : formatDay(Date.now());
  const rows = entries.flatMap((entry, index) => {
    const day = days[index];
    // A row that moves up is a new one: one that Preact moves may lose its style in Chromium 138.
    const row = (
      <TrafficRow
        key={entry.position}
        entry={entry}
        open={open}
        toAddress={toAddress}
        hasSeveral={hasSeveral}
        isShared={shared.has(entry.holder)}
        isJoined={isJoined(entry, entries[index + 1])}
      />
    );
    return day === (days[index - 1] ?? top) ? [row] : [<li class="day">{day}</li>, row];
  });
  return (
    <ol class="rows traffic">
      {entries.length > 0 && <Head names={columns} />}
      {rows}
    </ol>
  );
}

const columns = {
  time: "Time",
  status: "Status",
  name: "Operation or event",
  holder: "Who",
  phrase: "What happened",
  outcome: "Outcome",
};

/** The names of several cards: their rows have the end of the card's id too. */
function findSharedNames(entries) {
  const [owners, shared] = [new Map(), new Set()];
  for (const { holder, cardId } of entries.filter((entry) => entry.cardId !== undefined)) {
    if (owners.has(holder) && owners.get(holder) !== cardId) shared.add(holder);
    owners.set(holder, cardId);
  }
  return shared;
}

/** Whether the row below is that of the cause of a webhook, or another webhook of it. */
const isJoined = ({ causeId }, below) =>
  causeId !== undefined && [below?.id, below?.causeId].includes(causeId);

/** A character for what an entry is. The filters of the list explain it. */
export const ways = { request: "←", delivery: "→", action: "·" };

function TrafficRow({ entry, open, toAddress, hasSeveral, isShared, isJoined }) {
  const { id, kind, at, holder, cardId, phrase, found, warnings = [] } = entry;
  const [status, judgment] = getStatus(entry);
  const reason = kind === "delivery" && describeFailure(entry);
  return (
    <li class={isJoined ? "joined" : undefined}>
      <a class={`row ${kind}`} id={id} href={toAddress(id)} aria-current={id === open}>
        <time dateTime={at}>{formatTime(at)}</time>
        <span class={`status ${judgment}`}>{status}</span>
        <span class="way">{ways[kind]}</span>
        <strong class="name">{getName(entry)}</strong>
        <span class="result">
          <span class="holder">
            {(holder ?? cardId) && (
              <span class={holder === undefined ? "id" : undefined}>{holder ?? cardId}</span>
            )}
            {isShared && cardId && <span class="id">…{cardId.slice(-4)}</span>}
          </span>
          <span class="phrase">
            {reason && <span class={`text ${judgment}`}>{reason} </span>}
            {phrase} <span class="origin">{describeOrigin(entry)}</span>
          </span>
          {kind === "delivery" && <Outcome delivery={entry} hasSeveral={hasSeveral} />}
        </span>
        {warnings.map(({ message }) => (
          <span class="warning">! {message.split(/\.( |$)/)[0]}</span>
        ))}
        {found && <Found {...found} />}
      </a>
    </li>
  );
}

/** Names the cause of a retried webhook, because its row has moved away from that of its cause. */
function describeOrigin({ sentBy, cause, attempts = [] }) {
  if (sentBy !== undefined) return `by the ${sentBy}`;
  if (cause === undefined || attempts.length < 2) return "";
  return `after ${cause.name} at ${formatMinute(cause.at)}`;
}

/** The attempts of a delivery, and which receiver it was. */
const Outcome = ({ delivery, hasSeveral }) => (
  <span class="outcome">
    <Marks {...delivery} />
    <Next {...delivery} />
    {hasSeveral && delivery.url && <span class="url">{formatAddress(delivery.url)}</span>}
  </span>
);

/** When the next attempt at a delivery is. */
export function Next({ nextAttemptAt = undefined, state = undefined, start = "in" }) {
  const { clock } = useService();
  if (state === "failed") return <span class="again">not sent again</span>;
  if (nextAttemptAt === undefined) return null;
  const isWaiting = nextAttemptAt > clock.now; // ISO 8601 sorts by time
  const next = isWaiting ? `${start} ${formatUntil(nextAttemptAt, clock.now)}` : "is being sent";
  return <span class="again">{next}</span>;
}

export const getName = ({ type, operation, method, path }) =>
  type ?? operation ?? `${method} ${path}`;

/** The status, and whether it is `good` or `bad`; a probe of the doctor is neither. */
export function getStatus({ kind, status, sentBy = undefined, attempts = [] }) {
  const last = attempts.at(-1);
  if (kind === "action") return ["", "good"];
  if (kind === "delivery" && last === undefined) return ["…", "good"];
  const isGood = kind === "request" ? status < 400 : isDelivered(last);
  const judgment = isGood ? "good" : "bad";
  return [(last ?? { status }).status ?? "—", sentBy === "doctor" ? "" : judgment];
}

/** The first attempt and five retries (spec 3.2). */
const maxAttempts = 6;

const outcomes = { "✕": "failed", "✓": "delivered" };

/** How many attempts before Resend have a mark. */
const maxEarlier = 2;

/** One character per attempt of the schedule: failed, delivered, or to come; after Resend anew. */
function Marks(delivery) {
  const marks = delivery.attempts.map(getMark);
  const count = countEarlier(delivery);
  const made = marks.slice(count).join("");
  const earlier = marks.slice(Math.max(0, count - maxEarlier), count).join("");
  const named = marks.map((mark, index) => `${index + 1} ${outcomes[mark]}`);
  if (count > 0) named.splice(count, 0, "sent again");
  const text = `${named.length === 0 ? "no attempt" : `attempt ${named.join(", ")}`}; at most ${maxAttempts}`;
  return (
    <span class="marks" role="img" aria-label={text} title={text}>
      {count > 0 && (
        <span class="earlier">
          {count > maxEarlier && "…"}
          {earlier}↻
        </span>
      )}
      {delivery.state === "pending" ? made.padEnd(maxAttempts, "·") : made}
    </span>
  );
}

function describeFailure({ attempts, secretReplacedAt = undefined }) {
  const last = attempts.at(-1);
  if (last === undefined || isDelivered(last)) return "";
  if (last.responseBody) return toLine(last.responseBody);
  if (last.status === undefined) return describeAttempt(last);
  // ISO 8601 sorts by time.
  const hasNewSecret = last.status === 401 && secretReplacedAt <= last.at;
  return last.error ?? (hasNewSecret ? `new secret at ${formatMinute(secretReplacedAt)}` : "");
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

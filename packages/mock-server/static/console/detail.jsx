/** One request or one delivery: what was sent and received, why, and what to do next. */
import { formatAddress } from "@loyalty-cards/internal/hostnames";
import { toLine } from "@loyalty-cards/internal/response-text";
import { useState } from "preact/hooks";
import { address, addressWith, control, get, sayResponses } from "./api.js";
import { Purchases } from "./card.jsx";
import { Button, Copy, NoWebsiteKey, Pre } from "./controls.jsx";
import { formatUntil } from "./duration.js";
import {
  bearer,
  countEarlier,
  describeAttempt,
  formatDayTime,
  formatTime,
  getMark,
  indent,
  isDelivered,
  isSent,
  toCurl,
} from "./format.js";
import { useReading } from "./polling.jsx";
import { getName, getStatus, Next } from "./rows.jsx";

/**
 * The ids of entries are words of the search, so that a link also opens an entry that is not among
 * the newest.
 */
export function Detail({ id }) {
  const list = useReading(() => get("traffic", { query: id }));
  const entry = list?.items?.find((item) => item.id === id);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys must reach what scrolls
    <section class="detail" aria-label="Detail" tabIndex={0}>
      {list !== undefined && entry === undefined && (
        <Header title="Not found: too old, or the service was reset" />
      )}
      {entry?.kind === "request" && <RequestDetail {...entry} />}
      {entry?.kind === "delivery" && <DeliveryDetail {...entry} />}
      {entry?.kind === "action" && <ActionDetail {...entry} />}
    </section>
  );
}

/** The header, which stays in place when the detail is scrolled. */
const Header = ({ title, children = undefined }) => (
  <header>
    <h2>{title}</h2>
    <span class="actions">
      {children}
      <a class="button" href={addressWith({ open: "" })} aria-label="Close the detail">
        ✕
      </a>
    </span>
  </header>
);

/** The names of entries after which a purchase is a likely next step. */
const pointNames = ["issueCard", "purchase"];

/** What happened, to whose card, and a way to do more with it. */
const Story = ({
  name,
  holder = undefined,
  cardId = undefined,
  customerId = undefined,
  phrase,
}) => (
  <>
    <p class="actions story">
      {cardId !== undefined && <a href={address(["cards", cardId])}>{holder ?? cardId}</a>}
      {cardId === undefined && customerId !== undefined && (
        <a href={address(["cards"], { query: customerId })}>{holder ?? customerId}</a>
      )}
      {cardId === undefined && customerId === undefined && holder}
      {holder !== undefined && cardId !== undefined && <span class="id">{cardId}</span>}
      <strong>{phrase}</strong>
    </p>
    {cardId !== undefined && pointNames.includes(name) && <Purchases cardId={cardId} />}
  </>
);

/** A body: JSON is indented, and its keys, texts and other values have colours. */
const Body = ({ text }) => highlight(indent(text));

/** Shows the text of an HTML page, with its source below. */
function ResponseText({ text }) {
  if (!text.trimStart().startsWith("<")) return <Body text={text} />;
  return (
    <>
      {toLine(text, text.length)}
      <details>
        <summary>HTML</summary>
        {text}
      </details>
    </>
  );
}

const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

function highlight(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    const [token, string, colon] = match;
    parts.push(text.slice(end, match.index));
    parts.push(<span class={getTokenClass(string, colon)}>{token}</span>);
    end = match.index + token.length;
  }
  return [...parts, text.slice(end)];
}

function getTokenClass(string, colon) {
  if (string === undefined) return "json-value";
  return colon === undefined ? "json-string" : "json-key";
}

function ActionDetail({ id, type, at, cardId, holder, phrase }) {
  return (
    <>
      <Header title={type} />
      <Story name={type} holder={holder} cardId={cardId} phrase={phrase} />
      <p class="note">at {formatDayTime(at)}</p>
      <Followed id={id} />
    </>
  );
}

function RequestDetail(entry) {
  const { id, method, path, apiKey, idempotencyKey, requestBody, responseBody } = entry;
  const { status, durationMs, at, warnings, sentBy } = entry;
  const headers = {
    authorization: bearer,
    ...(requestBody !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
  const curl = toCurl(method, location.origin + path, headers, requestBody);
  return (
    <>
      <Header title={getName(entry)}>
        <Copy label="Copy curl" text={curl} />
      </Header>
      <Story {...entry} name={entry.operation} />
      {idempotencyKey !== undefined && (
        <Related
          title="Same key:"
          query={idempotencyKey}
          isMeant={(other) => other.idempotencyKey === idempotencyKey && other.id !== id}
        />
      )}
      <Followed id={id} />
      {warnings.map(({ message }) => (
        <p class="warning">! {message}</p>
      ))}
      {status === 401 && apiKey === undefined && <KeyAdvice />}
      <h3>
        {sentBy === undefined ? "Your app" : `The ${sentBy}`} sent at {formatTime(at)}
      </h3>
      <p>
        {method} {path}
        <br />
        API key: {apiKey?.replace(" key", "").toLowerCase() ?? "none that is known"} ·
        Idempotency-Key: {idempotencyKey ?? "none"}
      </p>
      {requestBody && (
        <Pre label="Body of the request">
          <Body text={requestBody} />
        </Pre>
      )}
      <h3>
        It got {status ?? "no response"} · {durationMs} ms
      </h3>
      {responseBody && (
        <Pre label="Body of the response">
          <Body text={responseBody} />
        </Pre>
      )}
    </>
  );
}

function KeyAdvice() {
  const apiKeys = useReading(() => get("settings"))?.apiKeys;
  const key = apiKeys?.website;
  if (apiKeys === undefined) return null;
  if (key === undefined) return <NoWebsiteKey />;
  return (
    <p>
      401? The website key is <code>{key}</code> <Copy text={key} name="the key" /> Send it as
      Authorization: Bearer KEY.
    </p>
  );
}

/** Links to the entries that a search finds and that are meant, oldest first. */
function Related({ title, query, isMeant }) {
  const list = useReading(() => get("traffic", { query }), query);
  const entries = list?.items?.filter(isMeant).reverse() ?? [];
  if (entries.length === 0) return null;
  const hasSeveral = new Set(entries.map(({ url }) => url)).size > 1;
  return (
    <p class="actions">
      {title}
      {entries.map((entry) => (
        <a class="related" href={address([], { open: entry.id })}>
          {describeLink(entry)}
          {hasSeveral && entry.url && ` at ${formatAddress(entry.url)}`}
        </a>
      ))}
    </p>
  );
}

function describeLink(entry) {
  const { kind, at, phrase } = entry;
  if (kind === "action") return `${getName(entry)} ${phrase}`;
  const result = `${getName(entry)} → ${getStatus(entry)[0]}`;
  return kind === "request" ? `${formatTime(at)} ${result}` : result;
}

/** The id of a cause finds its webhooks too. */
const Followed = ({ id }) => (
  <Related title="Webhooks:" query={id} isMeant={({ causeId }) => causeId === id} />
);

function DeliveryDetail(delivery) {
  const { id, type, attempts, url, body } = delivery;
  const { causeId, endpointId } = delivery;
  const [chosen, choose] = useState();
  const attempt = attempts[chosen ?? attempts.length - 1];
  const headers = {
    "content-type": "application/json",
    "service-event": type,
    "service-delivery": id,
    ...(attempt?.signature && { "service-signature": attempt.signature }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  async function resend(say) {
    sayResponses(say, "Sent again.", [await control("POST", `webhooks/deliveries/${id}/resend`)]);
  }
  return (
    <>
      <Header title={type}>
        <Button run={resend} disabled={url === undefined}>
          Resend
        </Button>
        <Copy label="Copy curl" text={toCurl("POST", url ?? "", headers, body)} />
      </Header>
      <Story {...delivery} name={type} />
      {causeId !== undefined && (
        <Related title="Cause:" query={causeId} isMeant={(other) => other.id === causeId} />
      )}
      <AttemptTabs delivery={delivery} shown={attempt} choose={choose} />
      <h3>{describeResponse(attempt)}</h3>
      {attempt && (
        <Pre label="Result of the attempt">
          {attempt.status !== undefined && "HTTP "}
          {describeAttempt(attempt)} · {attempt.durationMs} ms{attempt.responseBody && "\n\n"}
          {attempt.responseBody && <ResponseText text={attempt.responseBody} />}
        </Pre>
      )}
      {attempt?.status === 401 && isSent(attempt) && url && (
        <SecretAdvice endpointId={endpointId} attemptedAt={attempt.at} />
      )}
      <h3>
        {attempt && !isSent(attempt) ? "Not sent" : "Sent"} to{" "}
        {url ?? `${endpointId}, which was deleted`}
      </h3>
      <SigningTime {...attempt} />
      <Pre label="The request">
        {lines.join("")}
        {"\n"}
        <Body text={body} />
      </Pre>
    </>
  );
}

/** The attempts in order of time, those before Resend too, and when the next one is. */
function AttemptTabs({ delivery, shown, choose }) {
  const { attempts } = delivery;
  const earlier = countEarlier(delivery);
  return (
    <div class="tabs">
      {attempts.map((attempt, index) => (
        <>
          {index > 0 && index === earlier && <Resent />}
          <button
            type="button"
            class={isDelivered(attempt) ? "good" : "bad"}
            aria-pressed={attempt === shown}
            onClick={() => choose(index)}
          >
            {index + 1} {getMark(attempt)} {attempt.status ?? "no response"}
            {!isSent(attempt) && " injected"} · {formatTime(attempt.at)}
          </button>
        </>
      ))}
      {earlier > 0 && earlier === attempts.length && <Resent />}
      <Next {...delivery} start="again in" />
    </div>
  );
}

function describeResponse(attempt) {
  if (attempt === undefined) return "Your receiver has not responded yet";
  if (!isSent(attempt)) return "Your receiver did not get this attempt";
  return `Your receiver ${attempt.status === undefined ? "did not respond" : "responded"}`;
}

/** The tolerance of receivers (spec 5.7). */
const toleranceMs = 300_000;

/** Why `t` is earlier than the attempt, after the clock was moved. */
const SigningTime = ({ signature, at, signedAt }) =>
  signature !== undefined &&
  Date.parse(at) - Date.parse(signedAt) > toleranceMs && (
    <p class="note">
      Signed with real time, t = {formatTime(signedAt)}, because a receiver would refuse one that is{" "}
      {formatUntil(at, signedAt)} ahead.
    </p>
  );

const Resent = () => <span class="note">↻ sent again</span>;

/** A 401 of a receiver means nearly always that it has another secret. */
function SecretAdvice({ endpointId, attemptedAt }) {
  const endpoints = useReading(() => get("webhooks/endpoints"))?.items ?? [];
  const { secret = "", secretReplacedAt } = endpoints.find(({ id }) => id === endpointId) ?? {};
  return (
    <p>
      401? The secret of this endpoint ends in <code>…{secret.slice(-4)}</code>{" "}
      <Copy text={secret} name="the secret" /> Compare it with LOYALTY_SIGNING_SECRET of the
      receiver.{" "}
      {secretReplacedAt && (
        <strong>
          It was replaced at {formatTime(secretReplacedAt)}
          {attemptedAt < secretReplacedAt
            ? ", after this attempt: Resend signs with the new one."
            : ": the receiver may still have the old one."}
        </strong>
      )}
    </p>
  );
}

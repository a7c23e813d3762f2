/** One request or one delivery: the response first, then what was sent, then what to do next. */
import { useEffect, useRef, useState } from "preact/hooks";
import { address, addressWith, control, get, sayResponses } from "./api.js";
import { PurchaseButtons } from "./card.jsx";
import { describeAttempt, formatTime, formatUntil, indent, toCurl } from "./format.js";
import { describeReason, getName, getStatus } from "./rows.jsx";
import { Button, Copy, Pre, useReading, useService } from "./service.jsx";

/** The ids of entries are words of the search, so that a link also opens an entry that is not among the newest. */
export function Detail({ id }) {
  const list = useReading(() => get("traffic", { query: id }));
  const entry = list?.items?.find((item) => item.id === id);
  const heading = useRef(null);
  useEffect(() => {
    if (document.activeElement?.id === id) heading.current?.focus(); // of the row, which a phone hides
    return () => document.getElementById(id)?.focus();
  }, [entry === undefined]);
  if (list === undefined) return null;
  return (
    <section class="detail" aria-label="Detail">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {entry === undefined ? "Not found" : getName(entry)}
        </h2>
        {entry?.kind === "delivery" && <Resend {...entry} />}
        {entry !== undefined && <Copy label="Copy curl" text={toCommand(entry)} />}
        <a class="button" href={addressWith({ open: "" })} aria-label="Close the detail">
          ✕
        </a>
      </header>
      {entry === undefined && <p>It is older than the newest 200 requests, or the service was reset.</p>}
      {entry?.kind === "request" && <RequestDetail {...entry} />}
      {entry?.kind === "delivery" && <DeliveryDetail {...entry} />}
      {entry?.cardId && (
        <footer>
          <a href={address(["cards", entry.cardId])}>{entry.cardId}</a> Purchase
          <PurchaseButtons cardId={entry.cardId} />
        </footer>
      )}
    </section>
  );
}

const Resend = ({ id, url }) => (
  <Button
    disabled={url === undefined}
    run={async (say) => {
      const delivery = await control("POST", `webhooks/deliveries/${id}/resend`);
      await sayResponses(say, "Sent again.", [delivery]);
    }}
  >
    Resend
  </Button>
);

/** The headers of a delivery, and of a request as far as they are recorded. */
function getHeaders({ kind, id, type, attempts, idempotencyKey, requestBody }) {
  if (kind === "delivery") {
    const signature = attempts.findLast((attempt) => attempt.signature !== undefined)?.signature;
    return {
      "content-type": "application/json",
      "service-event": type,
      "service-delivery": id,
      ...(signature !== undefined && { "service-signature": signature }),
    };
  }
  return {
    authorization: "Bearer $LOYALTY_API_KEY",
    ...(requestBody !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
}

function toCommand(entry) {
  const { kind, method, path, requestBody, url = "", body } = entry;
  return kind === "delivery"
    ? toCurl("POST", url, getHeaders(entry), body)
    : toCurl(method, new URL(path, document.baseURI).href, getHeaders(entry), requestBody);
}

function RequestDetail(entry) {
  const { id, method, path, apiKey, idempotencyKey, requestBody, responseBody } = entry;
  const { reason, durationMs, at, warnings, cardId } = entry;
  const [status] = getStatus(entry);
  return (
    <>
      <p>
        {method} {path} · {formatTime(at)}
      </p>
      {warnings.map(({ message }) => (
        <p class="warning">! {message}</p>
      ))}
      {["unknown key", "no API key"].includes(reason) && <KeyAdvice reason={reason} />}
      <h3>Your app sent</h3>
      <p>
        Key: {apiKey ?? "none that is known"} · Idempotency-Key: {idempotencyKey ?? "none"}
      </p>
      {requestBody && <Pre label="Body of the request">{indent(requestBody)}</Pre>}
      <h3>
        It got {status === "—" ? "no response" : status} · {durationMs} ms
      </h3>
      {reason && <p>{describeReason(entry)}</p>}
      {responseBody && <Pre label="Body of the response">{indent(responseBody)}</Pre>}
      {cardId && <Followed id={id} cardId={cardId} />}
    </>
  );
}

function KeyAdvice({ reason }) {
  const settings = useReading(() => get("settings"));
  if (settings?.apiKeys === undefined) return null;
  const { website } = settings.apiKeys;
  return (
    <p class="advice">
      401? {reason === "no API key" ? "Send Authorization: Bearer with the key" : "The website key is"}{" "}
      <code>{website}</code> <Copy text={website} name="the key" />
    </p>
  );
}

/** The webhooks of the card that were created after the request. */
function Followed({ id, cardId }) {
  const list = useReading(() => get("traffic", { query: cardId, kind: "delivery" }));
  const later = (list?.items ?? []).filter(({ eventId }) => eventId.slice(4) > id.slice(4)).reverse();
  if (later.length === 0) return null;
  return (
    <p>
      Webhooks that followed:{" "}
      {later.slice(0, 10).map((delivery) => (
        <a class="followed" href={addressWith({ open: delivery.id })}>
          {delivery.type} → {getStatus(delivery)[0]}
        </a>
      ))}
    </p>
  );
}

function DeliveryDetail(delivery) {
  const { attempts, nextAttemptAt, state, url, body, endpointId, eventId } = delivery;
  const { clock } = useService();
  const [chosen, choose] = useState();
  const attempt = attempts[chosen ?? attempts.length - 1];
  return (
    <>
      <h3>Your receiver responded</h3>
      <div class="tabs">
        {attempts.map((each, index) => (
          <button type="button" aria-pressed={each === attempt} onClick={() => choose(index)}>
            {index + 1} · {each.status ?? "—"} · {formatTime(each.at)}
          </button>
        ))}
        {nextAttemptAt && <span class="again">again in {formatUntil(nextAttemptAt, clock.now)}</span>}
        {state === "failed" && <span class="again">no more attempts</span>}
      </div>
      {attempt === undefined ? (
        <p>The first attempt is being made.</p>
      ) : (
        <Pre label="Response of the receiver">
          {attempt.status === undefined ? describeAttempt(attempt) : `HTTP ${attempt.status}`} ·{" "}
          {attempt.durationMs} ms{attempt.responseBody && `\n\n${indent(attempt.responseBody)}`}
        </Pre>
      )}
      {attempt?.status === 401 && url && <SecretAdvice endpointId={endpointId} />}
      <h3>Sent to {url ?? `${endpointId}, which was deleted`}</h3>
      {attempt?.signature && (
        <p>Signed with the time of {attempt.signedWith === "machine" ? "this machine" : "the service"}.</p>
      )}
      <Pre label="The request">
        {Object.entries(getHeaders({ ...delivery, attempts: attempt ? [attempt] : [] }))
          .map(([name, value]) => `${name}: ${value}\n`)
          .join("")}
        {`\n${indent(body)}`}
      </Pre>
      <p class="note">Event {eventId}</p>
    </>
  );
}

/** A 401 of a receiver means nearly always that it has another secret. */
function SecretAdvice({ endpointId }) {
  const secret = useReading(() => get(`webhooks/endpoints/${endpointId}/secret`))?.secret;
  if (secret === undefined) return null;
  return (
    <p class="advice">
      401? The secret of this endpoint ends in <code>…{secret.slice(-4)}</code>{" "}
      <Copy text={secret} name="the secret" /> Compare it with LOYALTY_SIGNING_SECRET of the receiver.
    </p>
  );
}

/** One request or one delivery: what was sent and received, why, and what to do next. */
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
  if (list === undefined) return null;
  return (
    <section class="detail" aria-label="Detail">
      {entry === undefined && <Header title="Not found: too old, or the service was reset" />}
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

/** Takes the focus of the row that was pressed, which a phone hides, and returns it. */
function Header({ id = "", title, children = undefined }) {
  const heading = useRef(null);
  useEffect(() => {
    if (document.activeElement.id === id) heading.current.focus();
    return () => document.getElementById(id)?.focus();
  }, []);
  return (
    <header>
      <h2 ref={heading} tabIndex={-1}>
        {title}
      </h2>
      {children}
      <a class="button" href={addressWith({ open: "" })} aria-label="Close the detail">
        ✕
      </a>
    </header>
  );
}

function RequestDetail(entry) {
  const { id, method, path, apiKey, idempotencyKey, requestBody, responseBody } = entry;
  const { status, reason, durationMs, at, warnings, cardId } = entry;
  const headers = {
    authorization: "Bearer $LOYALTY_API_KEY",
    ...(requestBody !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
  const curl = toCurl(method, new URL(path, document.baseURI).href, headers, requestBody);
  return (
    <>
      <Header id={id} title={getName(entry)}>
        <Copy label="Copy curl" text={curl} />
      </Header>
      {warnings.map(({ message }) => (
        <p class="warning">! {message}</p>
      ))}
      {["unknown key", "no API key"].includes(reason) && <KeyAdvice />}
      <h3>Your app sent at {formatTime(at)}</h3>
      <p>
        {method} {path}
        <br />
        Key: {apiKey ?? "none that is known"} · Idempotency-Key: {idempotencyKey ?? "none"}
      </p>
      {requestBody && <Pre label="Body of the request">{indent(requestBody)}</Pre>}
      <h3>
        It got {status ?? "no response"} · {durationMs} ms
      </h3>
      {reason && <p>{describeReason(entry)}</p>}
      {responseBody && <Pre label="Body of the response">{indent(responseBody)}</Pre>}
      {cardId && <Followed id={id} cardId={cardId} />}
    </>
  );
}

function KeyAdvice() {
  const key = useReading(() => get("settings"))?.apiKeys?.website;
  return (
    <p>
      401? The website key is <code>{key}</code> <Copy text={key} name="the key" /> Send it as Authorization:
      Bearer KEY.
    </p>
  );
}

/** The webhooks of the card that were created after the request. */
function Followed({ id, cardId }) {
  const { items = [] } = useReading(() => get("traffic", { query: cardId, kind: "delivery" })) ?? {};
  const later = items.filter(({ eventId }) => eventId.slice(4) > id.slice(4)).reverse();
  return (
    <p class="actions">
      {later.length > 0 && "Webhooks that followed:"}
      {later.slice(0, 10).map((delivery) => (
        <a class="followed" href={addressWith({ open: delivery.id })}>
          {delivery.type} → {getStatus(delivery)[0]}
        </a>
      ))}
    </p>
  );
}

function DeliveryDetail(delivery) {
  const { id, type, attempts, nextAttemptAt, state, url, body, endpointId, eventId } = delivery;
  const { clock } = useService();
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
      <Header id={id} title={type}>
        <Button run={resend} disabled={url === undefined}>
          Resend
        </Button>
        <Copy label="Copy curl" text={toCurl("POST", url ?? "", headers, body)} />
      </Header>
      <h3>Your receiver responded</h3>
      <div class="tabs">
        {attempts.map((each, index) => (
          <button type="button" aria-pressed={each === attempt} onClick={() => choose(index)}>
            {index + 1} · {each.status ?? "—"} · {formatTime(each.at)}
          </button>
        ))}
        <span class="again">
          {nextAttemptAt && `again in ${formatUntil(nextAttemptAt, clock.now)}`}
          {state === "failed" && "no more attempts"}
        </span>
      </div>
      {attempt && (
        <Pre label="Response of the receiver">
          {attempt.status === undefined ? describeAttempt(attempt) : `HTTP ${attempt.status}`} ·{" "}
          {attempt.durationMs} ms{attempt.responseBody && `\n\n${indent(attempt.responseBody)}`}
        </Pre>
      )}
      {attempt?.status === 401 && url && <SecretAdvice endpointId={endpointId} />}
      <h3>Sent to {url ?? `${endpointId}, which was deleted`}</h3>
      <p class="note">
        Event {eventId}
        {attempt && `, signed with the time of the ${attempt.signedWith}`}
      </p>
      <Pre label="The request">
        {lines.join("")}
        {`\n${indent(body)}`}
      </Pre>
    </>
  );
}

/** A 401 of a receiver means nearly always that it has another secret. */
function SecretAdvice({ endpointId }) {
  const { secret = "" } = useReading(() => get(`webhooks/endpoints/${endpointId}/secret`)) ?? {};
  return (
    <p>
      401? The secret of this endpoint ends in <code>…{secret.slice(-4)}</code>{" "}
      <Copy text={secret} name="the secret" /> Compare it with LOYALTY_SIGNING_SECRET of the receiver.
    </p>
  );
}

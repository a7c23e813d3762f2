/**
 * One card: its face as the customer sees it, everything that a shop can do with it, its history
 * and its traffic.
 */

import { formatChange, formatNumber } from "@loyalty-cards/internal/format";
import { callAsWebsite, control, get, sayResult } from "./api.js";
import { Button, Form, Head } from "./controls.jsx";
import { formatDayTime, formatWallet } from "./format.js";
import { useReading } from "./polling.jsx";
import { CardTraffic } from "./rows.jsx";

const operations = {
  purchase: "Purchase",
  reward: "Reward",
  redeem: "Redemption",
  correct: "Correction",
};

/** Records points; a correction is a change, which may be negative. */
const record = (cardId, kind, points) => (say) =>
  sayResult(say, {
    cardId,
    act: () =>
      control(
        "POST",
        `cards/${cardId}/${kind}`,
        kind === "correct" ? { change: points } : { points },
      ),
    describe: ({ change }) => `Recorded: ${formatChange(change)} points.`,
  });

export const Purchases = ({ cardId }) => (
  <span class="actions">
    Purchase
    {[10, 50, 120].map((points) => (
      <Button run={record(cardId, "purchase", points)} aria-label={`Purchase +${points}`}>
        +{points}
      </Button>
    ))}
  </span>
);

export function Card({ id }) {
  const card = useReading(() => get(`cards/${id}`));
  const templates = useReading(() => get("templates"))?.items;
  const settings = useReading(() => get("settings"));
  if (card?.error) return <p class="note">{card.error}</p>;
  if (card === undefined || templates === undefined || settings === undefined) return null;
  const template = templates.find((each) => each.id === card.templateId);
  return (
    <div class="card-view">
      <div class="face">
        <Face card={card} template={template} />
        <a href={card.publicUrl} target="_blank" rel="noopener">
          Open the card’s page
        </a>
      </div>
      <section aria-label="Actions">
        <h2>{getHolder(card)}</h2>
        <RecordForm cardId={id} />
        <Wallets card={card} names={Object.values(settings.wallets)} />
        <Consent card={card} />
      </section>
      <Facts card={card} />
      <section class="wide" aria-label="History">
        <h2>History</h2>
        <History cardId={id} />
      </section>
      <section class="wide" aria-label="Traffic of this card">
        <h2>Traffic of this card</h2>
        <CardTraffic cardId={id} />
      </section>
    </div>
  );
}

const getHolder = ({ holder = "Unnamed customer" }) => holder;

/** The upper half of the card's page, with its style sheet. */
function Face({ card, template }) {
  const { loyaltyBalance, loyaltyTier, nextTier } = card;
  return (
    <article class="card" style={{ "--card": template?.color }}>
      <header>
        <p class="shop">{template?.name}</p>
        <span class="tier">{loyaltyTier ?? "Member"}</span>
      </header>
      <div class="balance updated">
        <p>
          <strong key={loyaltyBalance} class={loyaltyBalance >= 100_000 ? "long" : ""}>
            {formatNumber(loyaltyBalance)}
          </strong>{" "}
          points
        </p>
        {nextTier && <Progress {...nextTier} />}
      </div>
      <p class="holder">{getHolder(card)}</p>
    </article>
  );
}

const Progress = ({ name, missing, from, progressFrom }) => (
  <>
    <progress
      aria-label={`Progress to ${name}`}
      value={from - missing - progressFrom}
      max={from - progressFrom}
    />
    <p class="next">
      <span>{formatNumber(progressFrom)}</span> {formatNumber(missing)} more to {name}{" "}
      <span>{formatNumber(from)}</span>
    </p>
  </>
);

const RecordForm = ({ cardId }) => (
  <Form
    label="Record"
    run={(values, say) => record(cardId, values.get("kind"), Number(values.get("points")))(say)}
  >
    <select name="kind" aria-label="Operation">
      {Object.entries(operations).map(([kind, name]) => (
        <option value={kind}>{name}</option>
      ))}
    </select>
    <input name="points" type="number" step="any" required aria-label="Points" defaultValue="10" />
    points
  </Form>
);

const Wallets = ({ card: { id, wallets }, names }) => (
  <p class="actions">
    {names.map((wallet) => {
      const [isIn, title] = [wallets.includes(wallet), `${formatWallet(wallet)} Wallet`];
      const path = `cards/${id}/wallets/${encodeURIComponent(wallet)}`;
      const act = () => control(isIn ? "DELETE" : "PUT", path);
      const describe = () => `${isIn ? "Removed from" : "Added to"} ${title}.`;
      return (
        <Button key={wallet} run={(say) => sayResult(say, { cardId: id, act, describe })}>
          {isIn ? `✓ In ${title}: remove` : `Add to ${title}`}
        </Button>
      );
    })}
  </p>
);

/** Uses the public API: the control API has no consents. */
function Consent({ card: { id, customer } }) {
  const marketing = !customer.marketingConsent;
  const act = () => callAsWebsite("PUT", `passes/${id}/consent`, { marketing });
  const describe = () => (marketing ? "Consent given." : "Consent withdrawn.");
  const withoutConsent = customer.isMarketingWithdrawn ? "withdrawn" : "not given";
  return (
    <p class="actions">
      Marketing consent: {marketing ? withoutConsent : "✓ given"}{" "}
      <Button run={(say) => sayResult(say, { cardId: id, act, describe })}>
        {marketing ? "Give" : "Withdraw"}
      </Button>
    </p>
  );
}

/** What the card does not show already. */
function Facts({ card }) {
  const { id, status, issuedVia, issuedAt, templateId, customer, fieldValues } = card;
  const { name, phone, email } = customer;
  const shown = [card.holder, name, phone, email, card.loyaltyBalance, card.loyaltyTier];
  const fields = Object.entries(fieldValues).filter(([, value]) => !shown.includes(value));
  const facts = [
    ["Card", id],
    ["Status", `${status}, ${formatDayTime(issuedAt)}, ${issuedVia}`],
    ["Template", templateId],
    ["Customer", customer.id],
    ["Name", name === card.holder ? undefined : name],
    ["Phone", phone],
    ["Email", email],
    ...fields,
  ];
  return (
    <dl>
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

const historyColumns = { time: "Time", name: "Operation", change: "Points", points: "Balance" };

function History({ cardId }) {
  const history = useReading(() => get(`cards/${cardId}/operations`, { limit: 100 }));
  if (history?.items === undefined) return null;
  if (history.total === 0) return <p class="note">No operations yet: record a purchase above.</p>;
  return (
    <ol class="rows history">
      <Head names={historyColumns} />
      {history.items.map(({ id, type, change, balance, createdAt, isCancelled }) => (
        <li class="row" key={id}>
          <time dateTime={createdAt}>{formatDayTime(createdAt)}</time>
          <strong class="name">{type}</strong>
          <span class="points">{formatChange(change)}</span>
          <span class="points">{formatNumber(balance)}</span>
          <span class="action">
            {isCancelled && "cancelled"}
            {!isCancelled && type !== "cancellation" && (
              <Cancel cardId={cardId} id={id} type={type} change={change} />
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Cancel({ cardId, id, type, change }) {
  const act = () => control("POST", `operations/${id}/cancel`);
  const describe = (operation) => `Cancelled: ${formatChange(operation.change)} points.`;
  return (
    <Button
      run={(say) => sayResult(say, { cardId, act, describe })}
      aria-label={`Cancel the ${type} of ${formatChange(change)}`}
    >
      Cancel
    </Button>
  );
}

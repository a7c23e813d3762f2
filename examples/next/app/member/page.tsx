/** A member's page, rendered from the shop's own database: it works while the service is down. */
import { isIssuingError } from "@loyalty-cards/issuing-client";
import { redirect } from "next/navigation";
import { Suspense } from "react";
import { loyalty } from "../../shop/loyalty";
import { currentMember, getState, type MemberCard } from "../../shop/members";
import { signOut } from "../actions";
import { Live, NewsConsent } from "../forms";
import { QrCode, WalletButtons } from "./links";

export default async function MemberPage() {
  const member = await currentMember();
  if (member === undefined) redirect("/");
  const state = await getState(member.id);
  const { card, isStuck = false } = state;
  return (
    <div className="stack">
      <Live state={JSON.stringify(state)} />
      <div className="row">
        <h1>Hello, {member.name.split(" ")[0]}</h1>
        <form action={signOut}>
          <button type="submit" className="plain">
            Sign out
          </button>
        </form>
      </div>
      <div className="columns">
        {card === undefined ? (
          <CardToCome isStuck={isStuck} />
        ) : (
          <>
            <LoyaltyCard card={card} name={member.name} />
            <div className="stack">
              <section className="panel" aria-labelledby="history">
                <h2 id="history">History</h2>
                <Suspense fallback={<p className="quiet">One moment…</p>}>
                  <History cardId={card.id} />
                </Suspense>
              </section>
              <NewsConsent wantsNews={card.wantsNews === 1} />
            </div>
          </>
        )}
      </div>
    </div>
  );
}

const points = new Intl.NumberFormat("en-GB");

function LoyaltyCard({ card, name }: { card: MemberCard; name: string }) {
  return (
    <section className="stack" aria-label="Your card">
      <div className="card stack">
        <div className="row">
          <span className="brand">
            <img src="/icon.svg" alt="" /> Harbour Club
          </span>
          <output className="level" aria-label="Level">
            {card.tier ?? "Welcome aboard"}
          </output>
        </div>
        <div className="row">
          <strong>{name}</strong>
          <output className="balance" aria-label="Points">
            {points.format(card.balance)}{" "}
            <small>{card.balance === 1 ? "point" : "points"}</small>
          </output>
        </div>
        <a className="code" href={card.publicUrl}>
          <QrCode card={card} />
          {card.publicUrl.split("/").at(-1)}
        </a>
      </div>
      <WalletButtons card={card} />
    </section>
  );
}

/** Shown to a member without a card: it is issued later, or a person must act. */
function CardToCome({ isStuck }: { isStuck: boolean }) {
  const [title, text] = isStuck
    ? [
        "Your card needs our help",
        "You are already a member, but your card could not be issued. Please ask at the counter.",
      ]
    : [
        "Your card is on its way",
        "You are already a member. Your card will appear on this page; you do not have to wait.",
      ];
  return (
    <section className="card stack" aria-label="Your card">
      <div role="status" className="stack">
        <p className="balance">{title}</p>
        <p>{text}</p>
      </div>
    </section>
  );
}

const names: Record<string, string> = {
  purchase: "Purchase",
  redemption: "Reward taken",
  reward: "Gift from us",
  correction: "Correction",
  cancellation: "Cancelled",
};
const days = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
/** Empty for what is not a time. */
const toDay = (time = "") =>
  Number.isNaN(Date.parse(time)) ? "" : days.format(new Date(time));

async function History({ cardId }: { cardId: string }) {
  const operations = await loyalty()
    .client.listOperations(cardId, { limit: 10 }, { deadlineMs: 3_000 })
    .catch((error) => {
      if (!isIssuingError(error)) throw error;
      console.error(error);
    });
  if (operations === undefined)
    return (
      <p className="quiet">
        Your history cannot be shown right now. Your points are safe.
      </p>
    );
  if (operations.length === 0)
    return <p className="quiet">Nothing yet. Your first cup will be here.</p>;
  return (
    <ol className="history">
      {operations.map(({ id, type, change = 0, createdAt }) => (
        <li key={id} className="row">
          <span>
            <strong>{names[type] ?? type}</strong>
            <br />
            <time className="quiet" dateTime={createdAt}>
              {toDay(createdAt)}
            </time>
          </span>
          <strong className={change < 0 ? "accent" : "change"}>
            {change < 0 ? "−" : "+"}
            {points.format(Math.abs(change))}
          </strong>
        </li>
      ))}
    </ol>
  );
}

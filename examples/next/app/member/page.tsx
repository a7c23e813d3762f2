/** A member's page. It is rendered from the shop's own database, so it also works while the service is down. */

import { isIssuingError, type Operation } from "@loyalty-cards/issuing-client";
import { cardLinks, qrCodeSvg } from "@loyalty-cards/issuing-client/links";
import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { Suspense } from "react";
import { loyalty } from "../../shop/loyalty";
import { createStamp, getCard, isStuck, type MemberCard } from "../../shop/members";
import { currentMember } from "../../shop/session";
import { signOut } from "../actions";
import { Mark } from "../mark";
import { Live, NewsConsent } from "./client";

export const metadata: Metadata = { title: "My card" };

export default async function MemberPage() {
  const member = await currentMember();
  if (member === undefined) redirect("/");
  const card = await getCard(member.id);
  return (
    <>
      <Live stamp={await createStamp(member.id)} />
      <div className="greeting">
        <h1>Hello, {member.name.split(" ")[0]}</h1>
        <form action={signOut}>
          <button type="submit" className="plain">
            Sign out
          </button>
        </form>
      </div>
      <div className="member">
        {card === undefined ? (
          <CardToCome isStuck={await isStuck(member.id)} />
        ) : (
          <LoyaltyCard card={card} name={member.name} />
        )}
        {card !== undefined && (
          <div className="beside">
            <section className="panel" aria-labelledby="history">
              <h2 id="history">History</h2>
              <Suspense fallback={<p className="quiet">One moment…</p>}>
                <History cardId={card.id} />
              </Suspense>
            </section>
            <NewsConsent wantsNews={await wantsNews(card)} />
          </div>
        )}
      </div>
    </>
  );
}

/** Reads the consent from the service: a customer that existed before may have given it earlier. */
async function wantsNews({ id, wantsNews }: MemberCard): Promise<boolean> {
  if (wantsNews !== null) return wantsNews === 1;
  return loyalty()
    .getConsent(id, { deadlineMs: 2_000 })
    .then(({ marketingConsent }) => marketingConsent === true)
    .catch(() => false);
}

function LoyaltyCard({ card, name }: { card: MemberCard; name: string }) {
  const code = qrCodeSvg(card);
  return (
    <section className="holder" aria-label="Your card">
      <div className="card">
        <div className="card-top">
          <span className="card-brand">
            <Mark /> Harbour Club
          </span>
          <output className="level" key={card.tier} aria-label="Level">
            {card.tier ?? "Welcome aboard"}
          </output>
        </div>
        <div className="card-middle">
          <output className="balance" aria-label="Points">
            <span className="number" key={card.balance}>
              {new Intl.NumberFormat("en-GB").format(card.balance)}
            </span>
            <span className="unit">{card.balance === 1 ? "point" : "points"}</span>
          </output>
          <a
            className="code"
            href={card.publicUrl}
            aria-label="Open the card’s page"
          >
            {/* biome-ignore lint/security/noDangerouslySetInnerHtml: generated on the server from a validated address */}
            <span dangerouslySetInnerHTML={{ __html: code }} />
          </a>
        </div>
        <p className="holder-name">{name}</p>
      </div>
      <WalletButtons card={card} />
    </section>
  );
}

function WalletButtons({ card }: { card: { publicUrl: string } }) {
  const links = cardLinks(card);
  return (
    <div className="wallets">
      <a href={links.addToFirstWallet}>
        <img src={links.firstWalletButton} alt="Add to Apple Wallet" height={48} />
      </a>
      <a href={links.addToSecondWallet}>
        <img
          src={links.secondWalletButton}
          alt="Add to Google Wallet"
          height={48}
        />
      </a>
    </div>
  );
}

/** Shown to a member without a card: it is issued later, or a person must act. */
function CardToCome({ isStuck }: { isStuck: boolean }) {
  return (
    <section className="holder" aria-label="Your card">
      <div className="card to-come">
        <div className="card-top">
          <span className="card-brand">
            <Mark /> Harbour Club
          </span>
        </div>
        <div role="status">
          <p className="balance">
            {isStuck ? "Your card needs our help" : "Your card is on its way"}
          </p>
          <p>
            {isStuck
              ? "You are already a member, but your card could not be issued. Please ask at the counter."
              : "You are already a member. Your card will appear on this page; you do not have to wait."}
          </p>
        </div>
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

const points = new Intl.NumberFormat("en-GB");
const days = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

async function History({ cardId }: { cardId: string }) {
  const operations = await recentOperations(cardId);
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
      {operations.map(({ id, type, change, createdAt }) => (
        <li key={id}>
          <span className="what">{names[type] ?? type}</span>
          {createdAt !== undefined && (
            <time dateTime={createdAt}>{days.format(new Date(createdAt))}</time>
          )}
          {change !== undefined && (
            <span className={change < 0 ? "change spent" : "change"}>
              {change < 0 ? "−" : "+"}
              {points.format(Math.abs(change))}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

async function recentOperations(cardId: string): Promise<Operation[] | undefined> {
  try {
    return await loyalty().listOperations(
      cardId,
      { limit: 10 },
      { deadlineMs: 3_000 },
    );
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    console.error(error);
    return undefined;
  }
}

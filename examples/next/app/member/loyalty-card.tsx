/** The card: balance and level, the QR code for the counter, and the wallet buttons. */
import { qrCodeSvg, walletButtonsHtml } from "@loyalty-cards/issuing-client/links";
import type { MemberCard } from "../../shop/members";
import { Mark } from "../mark";

export function LoyaltyCard({ card, name }: { card: MemberCard; name: string }) {
  const code = qrCodeSvg(card, { label: "QR code of the card" });
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
          <a className="code" href={card.publicUrl} aria-label="Open the card’s page">
            {/* biome-ignore lint/security/noDangerouslySetInnerHtml: generated on the server from a validated address */}
            <span dangerouslySetInnerHTML={{ __html: code }} />
          </a>
        </div>
        <p className="holder-name">{name}</p>
      </div>
      {/* biome-ignore lint/security/noDangerouslySetInnerHtml: the helper escapes what it inserts */}
      <div className="wallets" dangerouslySetInnerHTML={{ __html: walletButtonsHtml(card) }} />
    </section>
  );
}

/** Shown to a member without a card: it is issued later, or a person must act. */
export function CardToCome({ isStuck }: { isStuck: boolean }) {
  return (
    <section className="holder" aria-label="Your card">
      <div className="card to-come">
        <div className="card-top">
          <span className="card-brand">
            <Mark /> Harbour Club
          </span>
        </div>
        <div role="status">
          <p className="balance">{isStuck ? "Your card needs our help" : "Your card is on its way"}</p>
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

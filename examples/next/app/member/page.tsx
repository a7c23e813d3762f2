/** A member's page. It is rendered from the shop's own database, so it also works while the service is down. */
import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { Suspense } from "react";
import { loyalty } from "../../shop/loyalty";
import { getCard, isStuck, type MemberCard } from "../../shop/members";
import { currentMember } from "../../shop/session";
import { createStamp } from "../../shop/stamp";
import { signOut } from "./actions";
import { History } from "./history";
import { Live } from "./live";
import { CardToCome, LoyaltyCard } from "./loyalty-card";
import { NewsConsent } from "./news-consent";

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

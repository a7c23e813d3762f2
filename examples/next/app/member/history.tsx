/** The operations of the card, from the service. Only id and type of an operation are guaranteed. */
import { isIssuingError, type Operation } from "@loyalty-cards/issuing-client";
import { loyalty } from "../../shop/loyalty";

const names: Record<string, string> = {
  purchase: "Purchase",
  redemption: "Reward taken",
  reward: "Gift from us",
  correction: "Correction",
  cancellation: "Cancelled",
};

const points = new Intl.NumberFormat("en-GB");
const days = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });

export async function History({ cardId }: { cardId: string }) {
  const operations = await recentOperations(cardId);
  if (operations === undefined)
    return <p className="quiet">Your history cannot be shown right now. Your points are safe.</p>;
  if (operations.length === 0) return <p className="quiet">Nothing yet. Your first cup will be here.</p>;
  return (
    <ol className="history">
      {operations.map(({ id, type, change, createdAt }) => (
        <li key={id}>
          <span className="what">{names[type] ?? type}</span>
          {createdAt !== undefined && <time dateTime={createdAt}>{days.format(new Date(createdAt))}</time>}
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
    return await loyalty().listOperations(cardId, { limit: 10 }, { deadlineMs: 3_000 });
  } catch (error) {
    if (!isIssuingError(error)) throw error;
    console.error(error);
    return undefined;
  }
}

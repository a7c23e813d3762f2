/** Next calls this once when the server starts: it starts the background work. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { workOnEvents } = await import("./shop/events");
  const { issueCardsLater } = await import("./shop/cards-later");
  await workOnEvents();
  issueCardsLater();
  const { LOYALTY_CONSOLE_URL } = process.env; // the mock service sets it
  if (LOYALTY_CONSOLE_URL !== undefined) console.log(`The loyalty console is at ${LOYALTY_CONSOLE_URL}`);
}

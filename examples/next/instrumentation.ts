/** Next calls this once when the server starts: it starts the workers of the inbox and the outbox. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { outbox } = await import("./shop/database");
  const { workOnEvents } = await import("./shop/events");
  (await outbox()).work();
  workOnEvents();
  const { LOYALTY_CONSOLE_URL } = process.env; // the mock service sets it
  if (LOYALTY_CONSOLE_URL !== undefined)
    console.log(`The loyalty console is at ${LOYALTY_CONSOLE_URL}`);
}

/** Starts the shop with the settings of its environment. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { openShop } from "./shop.ts";

const { LOYALTY_TEMPLATE_ID, LOYALTY_SIGNING_SECRET } = process.env;
if (!LOYALTY_TEMPLATE_ID || !LOYALTY_SIGNING_SECRET)
  throw new Error("Set LOYALTY_TEMPLATE_ID and LOYALTY_SIGNING_SECRET.");
const { app, close } = await openShop({
  client: createIssuingClient(), // reads LOYALTY_URL and LOYALTY_API_KEY
  template: LOYALTY_TEMPLATE_ID,
  secret: LOYALTY_SIGNING_SECRET,
  file: process.env.SHOP_FILE ?? "shop.db",
  log: (line) => console.error(new Date().toTimeString().slice(0, 8), line),
});
const port = Number(process.env.PORT ?? 3000);
const server = app.listen(port, (error) => {
  if (error) throw error; // such as a port that is taken
  console.log(`The shop listens on port ${port}.`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    // The running requests end, then the workers.
    server.close(() => void close());
    // The next request of an open page would use its connection again.
    setInterval(() => server.closeIdleConnections(), 100).unref();
  });
}

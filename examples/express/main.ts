/** Starts the shop with what its environment says. */
import { openShop } from "./shop.ts";

const { LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_TEMPLATE_ID, LOYALTY_SIGNING_SECRET, LOYALTY_CONSOLE_URL } =
  process.env;
const { app, inbox, issueMissing } = await openShop({
  url: LOYALTY_URL ?? "",
  key: LOYALTY_API_KEY ?? "",
  namespace: process.env.LOYALTY_IDEMPOTENCY_NAMESPACE ?? "development",
  template: LOYALTY_TEMPLATE_ID ?? "",
  secret: LOYALTY_SIGNING_SECRET ?? "",
  file: process.env.SHOP_FILE ?? "shop.db",
});
const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(
    `The shop listens on port ${process.env.PORT ?? 3000}; the console is at ${LOYALTY_CONSOLE_URL}`,
  );
});
const everyMinute = setInterval(() => void issueMissing(), 60_000);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    clearInterval(everyMinute);
    server.close(() => void inbox.close());
  });
}

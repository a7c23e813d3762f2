/** Starts the shop with what its environment says. */
import { openShop } from "./shop.ts";

const {
  LOYALTY_URL,
  LOYALTY_API_KEY,
  LOYALTY_TEMPLATE_ID,
  LOYALTY_SIGNING_SECRET,
} = process.env;
const { app, close } = await openShop({
  url: LOYALTY_URL ?? "",
  key: LOYALTY_API_KEY ?? "",
  template: LOYALTY_TEMPLATE_ID ?? "",
  secret: LOYALTY_SIGNING_SECRET ?? "",
  file: process.env.SHOP_FILE ?? "shop.db",
});
const port = Number(process.env.PORT ?? 3000);
const server = app.listen(port, (error) => {
  if (error) throw error; // such as a port that is taken
  console.log(`The shop listens on port ${port}.`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => server.close(() => void close()));
}

/** Starts a NestJS application that receives deliveries, on Express or Fastify. */
// #region nest
// main.ts
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nestReceiver } from "@loyalty-cards/webhook-verify/nest";
import type { INestApplication } from "@nestjs/common";
import { Balances } from "./balances.ts"; // your own code

export function receiveWebhooks(app: INestApplication, secret: string) {
  const balances = app.get(Balances);
  app.use(
    "/webhooks/loyalty",
    nestReceiver({
      secret,
      handler: onEvents({
        "balance.changed": ({ data }) => balances.save(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
}
// const app = await NestFactory.create(AppModule);
// receiveWebhooks(app, secret);
// await app.listen(3000);
// #endregion

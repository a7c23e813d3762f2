/** Adds a receiver to a NestJS application, on Express or Fastify. */
// #region nest
// main.ts
import { onEvents } from "@loyalty-cards/webhook-verify";
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import type { INestApplication } from "@nestjs/common";
import { Balances } from "./balances.ts"; // your own code

export function receiveWebhooks(app: INestApplication, secret: string) {
  const balances = app.get(Balances);
  app.use(
    "/webhooks/loyalty",
    nodeReceiver({
      secret,
      handler: onEvents({
        "balance.changed": ({ data }) => balances.save(data.passId, data.balance),
        otherTypes: () => {},
      }),
    }),
  );
}
// const app = await NestFactory.create(AppModule);
// receiveWebhooks(app, secret); // before app.listen(), so that no parser runs before it
// await app.listen(3000);
// #endregion

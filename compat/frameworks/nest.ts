/** A receiver in NestJS. */
// #region nest
// main.ts
import { nodeReceiver } from "@loyalty-cards/webhook-verify/node";
import type { INestApplication } from "@nestjs/common";
import { webhooks } from "./webhooks.ts";

export const receiveWebhooks = (app: INestApplication) =>
  app.use("/webhooks/loyalty", nodeReceiver(webhooks));
// const app = await NestFactory.create(AppModule);
// receiveWebhooks(app); // before app.listen(), so that no parser runs before it
// await app.listen(3000);
// #endregion

/** The options of the receiver that the guide mounts in each framework. */
// #region webhooks
// webhooks.ts
import { onEvents, type ReceiverOptions } from "@loyalty-cards/webhook-verify";
import { saveBalance } from "./balances.ts"; // your own code

export const webhooks: ReceiverOptions = {
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  handler: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    otherTypes: () => {},
  }),
};
// #endregion

/** A Lambda function that receives deliveries, behind API Gateway, a load balancer or a function URL. */
// #region lambda
import { onEvents } from "@loyalty-cards/webhook-verify";
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
import { saveBalance } from "./balances.ts"; // your own code

export const handler = lambdaReceiver({
  secret: () => process.env.LOYALTY_SIGNING_SECRET,
  handler: onEvents({
    "balance.changed": ({ data }) => saveBalance(data.passId, data.balance),
    otherTypes: () => {},
  }),
});
// #endregion

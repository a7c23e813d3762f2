/** A Lambda function that receives deliveries, behind API Gateway, a load balancer or a function URL. */
// #region lambda
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";

export const handler = lambdaReceiver({
  secret: () => process.env.LOYALTY_SIGNING_SECRET ?? "",
  async accept(event) {
    if (event.type === "balance.changed") await saveBalance(event.data.passId, event.data.balance);
  },
});
// #endregion

export const saved: [cardId: string, balance: number][] = [];

async function saveBalance(cardId: string, balance: number): Promise<void> {
  saved.push([cardId, balance]);
}

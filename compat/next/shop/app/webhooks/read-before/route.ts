/** What must not be done in the App Router: reading the body before the receiver does. */
import { nextRoute } from "@loyalty-cards/webhook-verify/next";
import { saveBalance } from "../../../back-office";

const receive = nextRoute({
  secret: "whsec_never_reached",
  handler: (event) => saveBalance(event.id, 0),
});

export async function POST(request: Request): Promise<Response> {
  await request.json();
  return receive(request);
}

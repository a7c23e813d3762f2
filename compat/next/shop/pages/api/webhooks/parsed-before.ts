/** What must not be done in the Pages Router: leaving Next's body parser on. */
import { nextPagesHandler } from "@loyalty-cards/webhook-verify/next";
import { saveBalance } from "../../../back-office";

export default nextPagesHandler({
  secret: "whsec_never_reached",
  handler: (event) => saveBalance(event.id, 0),
});

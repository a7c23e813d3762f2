/** The service's own name for a request. Which header carries it is not specified; these are the customary ones. */
import type { IncomingAnswer } from "./transport.ts";

export function requestIdOf(head: Pick<IncomingAnswer, "header">): string | undefined {
  return head.header("x-request-id") ?? head.header("request-id") ?? undefined;
}

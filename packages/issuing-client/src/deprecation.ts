/** Tells once per operation that the service is going to change or end it (RFC 9745, RFC 8594). */
import type { Call } from "./call.ts";
import type { IncomingAnswer } from "./transport.ts";

export function deprecationsTold(): (call: Call, head: Pick<IncomingAnswer, "header">) => void {
  const told = new Set<string>();
  return (call, head) => {
    const deprecation = head.header("deprecation") ?? undefined;
    const sunset = head.header("sunset") ?? undefined;
    if ((deprecation ?? sunset) === undefined || told.has(call.operation)) return;
    told.add(call.operation);
    const since = deprecation === undefined ? {} : { deprecation };
    const until = sunset === undefined ? {} : { sunset };
    call.tell(() => ({ type: "deprecation", ...since, ...until }));
  };
}

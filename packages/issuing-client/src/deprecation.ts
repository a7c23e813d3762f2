/** Tells once per operation that the service is going to change or end it (RFC 9745, RFC 8594). */
import type { Call } from "./call.ts";

export function deprecationsTold(): (call: Call, headers: Headers) => void {
  const told = new Set<string>();
  return (call, headers) => {
    const deprecation = headers.get("deprecation") ?? undefined;
    const sunset = headers.get("sunset") ?? undefined;
    if ((deprecation ?? sunset) === undefined || told.has(call.operation)) return;
    told.add(call.operation);
    const since = deprecation === undefined ? {} : { deprecation };
    const until = sunset === undefined ? {} : { sunset };
    call.tell({ type: "deprecation", operation: call.operation, ...since, ...until });
  };
}

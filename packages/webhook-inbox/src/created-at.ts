/** The moment of an event, in a form that orders: the service writes ISO 8601 in UTC with milliseconds (spec 6.1). */
export function createdAtMs({ id, createdAt }: { id: string; createdAt: string }): number {
  const ms = Date.parse(createdAt);
  if (Number.isNaN(ms))
    throw new TypeError(`The event ${id} has a createdAt that is no date, so it has no place in an order.`);
  return ms;
}

/** What `markProcessed` and `isNewest` need of an event. */
export interface Occurrence {
  id: string;
  createdAt: string;
}

/** Events: their types, and the newest ones that the service emitted. */
import { requiredData } from "@loyalty-cards/openapi/events";
import type { Domain } from "../domain/context.ts";
import { addRecent, type EventData, type EventType, type ServiceEvent } from "../domain/state.ts";

export const eventTypes = Object.keys(requiredData) as EventType[];

export function createEvent<Type extends EventType>(
  { state, nowMs, ids, notifyChange }: Domain,
  type: Type,
  data: EventData<Type>,
): ServiceEvent {
  const createdAt = new Date(nowMs()).toISOString();
  const event = { id: ids.nextEventId(), type, createdAt, data };
  addRecent(state.recentEvents, event);
  notifyChange();
  return event;
}

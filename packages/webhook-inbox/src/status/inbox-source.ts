/** The status page of an inbox: dead letters by failure, with replay, and the events that have waited longest. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { InboxEntry, InspectableInbox } from "../reports.ts";
import {
  maxItems,
  maxWaiting,
  type StatusContent,
  type StatusForm,
  type StatusItem,
  type StatusResult,
  type StatusSource,
  toGroupName,
  toGroups,
} from "./source.ts";

export function createInboxSource(inbox: InspectableInbox): StatusSource {
  const listDead = () => inbox.list({ state: "dead", limit: maxItems });

  async function read(): Promise<StatusContent> {
    const health = await inbox.health();
    const [dead, waiting] = health.isReachable
      ? await Promise.all([listDead(), inbox.list({ state: "waiting", limit: maxWaiting })])
      : [[], []];
    const { oldestWaitingMs } = health;
    return {
      ...(!health.isReachable && {
        unreachable: `The inbox cannot be reached: ${health.error ?? "unknown"}.`,
      }),
      figures: [
        { name: "waiting", value: String(health.waiting) },
        { name: "oldest", value: oldestWaitingMs === undefined ? "–" : formatDuration(oldestWaitingMs) },
        { name: "dead letters", value: String(health.dead), isAlarming: health.dead > 0 },
      ],
      warnings: [],
      sections: [
        {
          title: "Dead letters",
          state: "dead",
          columns: ["Event", "Type"],
          time: "Received",
          empty: "None.",
          groups: toGroups(dead, ({ lastFailure }) => toGroupName(lastFailure), toItem),
          total: Math.max(health.dead, dead.length),
          verb: "Replay",
        },
        {
          title: "Waiting longest",
          state: "waiting",
          columns: ["Event", "Type"],
          time: "Received",
          empty: "No events are waiting.",
          groups: waiting.length === 0 ? [] : [{ name: "", items: waiting.map(toItem) }],
          total: health.waiting,
        },
      ],
    };
  }

  async function act(form: StatusForm): Promise<StatusResult> {
    const ids = await findIds(form);
    if (ids.length === 0) return { status: 400, message: "Select at least one dead letter." };
    let replayed = 0;
    for (const id of ids) if (await inbox.replay(id)) replayed += 1;
    return replayed > 0
      ? { done: "replayed" }
      : { status: 404, message: "This event is not a dead letter. It may have been replayed already." };
  }

  /** Read once, so that an event which fails again at once is not replayed twice. */
  async function findIds(form: StatusForm): Promise<string[]> {
    const group = form.get("group");
    if (group === null && !form.has("all")) return form.getAll("id").filter((id) => id !== "");
    const dead = await listDead();
    return dead
      .filter(({ lastFailure }) => group === null || toGroupName(lastFailure) === group)
      .map(({ id }) => id);
  }

  return {
    name: "inbox",
    title: "Webhook inbox",
    notices: { replayed: "What you replayed has all of its attempts again and waits for its handler." },
    read,
    act,
  };
}

const toItem = ({ id, type, receivedAt, attempts }: InboxEntry): StatusItem => ({
  key: id,
  cells: [id, type],
  at: receivedAt,
  attempts,
});

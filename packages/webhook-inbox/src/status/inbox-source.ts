/** The status page of an inbox: dead letters by failure, with replay, and the events that have waited longest. */
import { formatDuration } from "@loyalty-cards/internal/format";
import type { InboxEntry, InspectableInbox } from "../reports.ts";
import {
  changeAll,
  formatChanged,
  formatNumber,
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
  const listDead = (limit: number) => inbox.list({ state: "dead", limit });

  async function read(): Promise<StatusContent> {
    const health = await inbox.health();
    const [dead, waiting] = health.isReachable
      ? await Promise.all([listDead(maxItems), inbox.list({ state: "waiting", limit: maxWaiting })])
      : [[], []];
    const { oldestWaitingMs } = health;
    return {
      ...(!health.isReachable && {
        unreachable: `The inbox cannot be reached: ${health.error ?? "unknown"}.`,
      }),
      figures: [
        { name: "waiting", value: formatNumber(health.waiting) },
        {
          name: "oldest waiting",
          value: oldestWaitingMs === undefined ? "–" : formatDuration(oldestWaitingMs),
        },
        { name: "dead letters", value: formatNumber(health.dead), isAlarming: health.dead > 0 },
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
    const changed = await changeAll(ids, (id) => inbox.replay(id));
    return changed > 0
      ? { done: "replayed", changed, selected: ids.length }
      : { status: 404, message: "This event is not a dead letter. It may have been replayed already." };
  }

  /** All dead letters are read once, so that an event which fails again at once is not replayed twice. */
  async function findIds(form: StatusForm): Promise<string[]> {
    const group = form.get("group");
    if (group === null && !form.has("all")) return form.getAll("id").filter((id) => id !== "");
    const dead = await listDead((await inbox.health()).dead);
    return dead
      .filter(({ lastFailure }) => group === null || toGroupName(lastFailure) === group)
      .map(({ id }) => id);
  }

  return {
    name: "inbox",
    title: "Webhook inbox",
    notices: {
      replayed: (changed, selected) =>
        `Replayed ${formatChanged(changed, selected, ["event", "events"])}. A replayed event has all of its attempts again and waits for its handler.`,
    },
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

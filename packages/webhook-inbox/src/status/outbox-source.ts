/** The status page of an outbox: users whose card is waiting, rejected or unknown. It shows ids and codes only. */
import { formatDuration } from "@loyalty-cards/internal/format";
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

/** An entry of an outbox, as far as the page shows it. */
interface OutboxItem {
  userId: string;
  template: string;
  attempts: number;
  addedAt: Date;
  error?: { code: string };
}

interface EntryOptions {
  template: string;
}

interface UserRef extends EntryOptions {
  userId: string;
}

/** The part of an outbox of `@loyalty-cards/issuing-outbox` that the page uses. @inline */
export interface InspectableOutbox {
  count(): Promise<{
    waiting: number;
    rejected: number;
    unknown: number;
    undelivered: number;
    oldestWaitingAt?: Date;
    paused: readonly { reason: string; template?: string; until?: Date }[];
  }>;
  list(options: { state: "waiting" | "rejected" | "unknown"; limit: number }): AsyncIterable<OutboxItem>;
  retry(userId: string, options: EntryOptions): Promise<unknown>;
  resolve(
    userId: string,
    resolution: { cardId: string } | { noCard: true },
    options: EntryOptions,
  ): Promise<unknown>;
  resume(options: { resend?: boolean }): Promise<unknown>;
}

export function createOutboxSource(outbox: InspectableOutbox): StatusSource {
  async function list(state: "waiting" | "rejected" | "unknown", limit = maxItems): Promise<OutboxItem[]> {
    const entries: OutboxItem[] = [];
    for await (const entry of outbox.list({ state, limit })) entries.push(entry);
    return entries;
  }

  async function read(): Promise<StatusContent> {
    const counts = await outbox.count();
    const [waiting, rejected, unknown] = await Promise.all([
      list("waiting", maxWaiting),
      list("rejected"),
      list("unknown"),
    ]);
    const { oldestWaitingAt, paused } = counts;
    const alarm = (name: string, count: number) => ({
      name,
      value: formatNumber(count),
      isAlarming: count > 0,
    });
    const shared = { columns: ["User", "Template"], time: "Added" };
    const byCode = (entries: readonly OutboxItem[]) =>
      toGroups(entries, ({ error }) => toGroupName(error?.code), toItem);
    return {
      figures: [
        { name: "waiting", value: formatNumber(counts.waiting) },
        {
          name: "oldest waiting",
          value: oldestWaitingAt === undefined ? "–" : formatDuration(Date.now() - oldestWaitingAt.getTime()),
        },
        alarm("unknown", counts.unknown),
        alarm("rejected", counts.rejected),
        alarm("callbacks that fail", counts.undelivered),
      ],
      warnings: paused.map(formatPause),
      needsResume: paused.some(({ reason }) => reason === "restored"),
      sections: [
        {
          ...shared,
          title: "Unknown",
          state: "unknown",
          empty: "None.",
          hint: "A card may exist. Look for the customer in the console of the service, then record what you found.",
          groups: byCode(unknown),
          total: counts.unknown,
          isResolvable: true,
        },
        {
          ...shared,
          title: "Rejected",
          state: "rejected",
          empty: "None.",
          hint: "The user must correct the form. Retry sends the same form again, for example after a change of the template.",
          groups: byCode(rejected),
          total: counts.rejected,
          verb: "Retry",
        },
        {
          ...shared,
          title: "Waiting longest",
          state: "waiting",
          empty: "No cards are waiting.",
          groups: byCode(waiting.map((entry) => ({ error: { code: "not tried yet" }, ...entry }))),
          total: counts.waiting,
          verb: "Retry",
        },
      ],
    };
  }

  async function act(form: StatusForm): Promise<StatusResult> {
    try {
      return await change(form);
    } catch (error) {
      // The outbox rejects what does not fit the state of the entry with a message that contains no data.
      if (error instanceof TypeError) return { status: 409, message: error.message };
      throw error;
    }
  }

  async function change(form: StatusForm): Promise<StatusResult> {
    const resume = form.get("resume");
    if (resume !== null) {
      await outbox.resume({ resend: resume === "resend" });
      return { done: "resumed", changed: 0, selected: 0 };
    }
    const keys = (await findKeys(form)).map(parseKey);
    const users = keys.filter((user) => user !== undefined);
    const [first] = users;
    if (first === undefined || users.length < keys.length)
      return { status: 400, message: "Select at least one user." };
    const resolution = form.get("resolve");
    if (resolution === null) return retry(users);
    const cardId = form.get("cardId")?.trim() ?? "";
    if (resolution === "card" && cardId === "")
      return { status: 400, message: "Enter the id of the card that exists." };
    const found = resolution === "none" ? { noCard: true as const } : { cardId };
    await outbox.resolve(first.userId, found, { template: first.template });
    return { done: "resolved", changed: 1, selected: 1 };
  }

  /** Skips an entry that cannot be retried, except when no entry can. */
  async function retry(users: readonly UserRef[]): Promise<StatusResult> {
    let rejection: unknown;
    const changed = await changeAll(users, async ({ userId, template }) => {
      try {
        await outbox.retry(userId, { template });
        return true;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        rejection = error;
        return false;
      }
    });
    if (changed === 0) throw rejection;
    return { done: "retried", changed, selected: users.length };
  }

  /** What was selected, a group, or all users of a section. */
  async function findKeys(form: StatusForm): Promise<string[]> {
    const group = form.get("group");
    if (group === null && !form.has("all")) return form.getAll("id");
    const state = form.get("state") === "waiting" ? "waiting" : "rejected";
    const entries = await list(state, Number.POSITIVE_INFINITY);
    return entries
      .filter(({ error }) => group === null || toGroupName(error?.code ?? "not tried yet") === group)
      .map(toKey);
  }

  return {
    name: "outbox",
    title: "Card outbox",
    notices: {
      retried: (changed, selected) =>
        `Retried ${formatChanged(changed, selected, ["entry", "entries"])}. A retried entry is due now.`,
      resolved: () => "The outbox has recorded what you found out.",
      resumed: () => "The outbox has resumed.",
    },
    read,
    act,
  };
}

const toItem = (entry: OutboxItem): StatusItem => ({
  key: toKey(entry),
  cells: [entry.userId, entry.template],
  at: entry.addedAt,
  attempts: entry.attempts,
});

/** A user can have entries of several templates. */
const toKey = ({ userId, template }: Pick<OutboxItem, "userId" | "template">) =>
  JSON.stringify([userId, template]);

function parseKey(key: string): UserRef | undefined {
  try {
    const [userId, template] = JSON.parse(key) as unknown[];
    return typeof userId === "string" && typeof template === "string" ? { userId, template } : undefined;
  } catch {
    return undefined;
  }
}

const formatPause = ({ reason, template, until }: { reason: string; template?: string; until?: Date }) =>
  `Paused: ${reason}${template === undefined ? "" : ` of ${template}`}${until === undefined ? "" : `, until ${until.toISOString().slice(0, 19).replace("T", " ")} UTC`}.`;

/** What the status page shows and does, for an inbox or an outbox. */

/** Something that a person can select: a dead letter, or an entry of an outbox. */
export interface StatusItem {
  /** Identifies the item in the form. */
  key: string;
  /** The text of each column. */
  cells: readonly string[];
  at: Date;
  attempts: number;
}

export interface StatusGroup {
  /** What the items have in common: a failure or a code. The form refers to the group by it. */
  name: string;
  items: readonly StatusItem[];
}

export interface StatusSection {
  title: string;
  /** The part of the form that an action belongs to, such as `dead`. */
  state: string;
  columns: readonly string[];
  /** What the times of the items are: "Received" or "Added". */
  time: string;
  empty: string;
  groups: readonly StatusGroup[];
  /** How many there are, which can be more than the groups contain. */
  total: number;
  /** "Replay" or "Retry", for a section whose items can be selected. */
  verb?: string;
  /** Each item has a form that records what a person found out. */
  isResolvable?: boolean;
  /** Shown above the items. */
  hint?: string;
}

export interface StatusContent {
  /** Why the database or queue cannot be reached; the figures are unknown then. */
  unreachable?: string;
  figures: readonly { name: string; value: string; isAlarming?: boolean }[];
  /** What is paused, and why. */
  warnings: readonly string[];
  /** Everything waits until a person decides how the outbox resumes. */
  needsResume?: boolean;
  sections: readonly StatusSection[];
}

/** The fields of the form: each name with all of its values. */
export type StatusForm = Pick<URLSearchParams, "get" | "getAll" | "has">;

/** `done` names a notice of the page, with how many items were changed; otherwise the status and a message for the person. */
export type StatusResult =
  | { done: string; changed: number; selected: number }
  | { status: number; message: string };

export interface StatusSource {
  /** "inbox" or "outbox", for messages. */
  name: string;
  title: string;
  /** The sentences that follow an action. No text of the URL is shown: anyone can create a link with any text. */
  notices: Readonly<Record<string, (changed: number, selected: number) => string>>;
  read(): Promise<StatusContent>;
  act(form: StatusForm): Promise<StatusResult>;
}

/** How many items the page reads for its groups. */
export const maxItems = 1_000;

/** How many items of a group the page shows. */
export const maxShown = 20;

/** How many of those that wait the page shows. */
export const maxWaiting = 10;

/** The beginning of a failure on one line, because browsers change line breaks in forms. */
export const toGroupName = (failure: string | undefined) =>
  (failure ?? "").replace(/\s+/g, " ").trim().slice(0, 500) || "unknown";

/** Changes the items, 100 at once: SQLite writes those in one transaction. @returns how many were changed. */
export async function changeAll<Item>(
  items: readonly Item[],
  change: (item: Item) => Promise<boolean>,
): Promise<number> {
  let changed = 0;
  for (let first = 0; first < items.length; first += 100) {
    const results = await Promise.all(items.slice(first, first + 100).map(change));
    changed += results.filter(Boolean).length;
  }
  return changed;
}

/** A number with separators of thousands: `2,000`. */
export const formatNumber = (value: number) => value.toLocaleString("en");

/** How many items an action has changed: `1 event`, or `1,999 of 2,000 events`. */
export function formatChanged(changed: number, selected: number, [one, several]: [string, string]): string {
  const all = `${formatNumber(selected)} ${selected === 1 ? one : several}`;
  return changed === selected ? all : `${formatNumber(changed)} of ${all}`;
}

/** Groups of items with the same name, the largest first. */
export function toGroups<Entry>(
  entries: readonly Entry[],
  getName: (entry: Entry) => string,
  toItem: (entry: Entry) => StatusItem,
): StatusGroup[] {
  const groups = new Map<string, StatusItem[]>();
  for (const entry of entries) {
    const name = getName(entry);
    const items = groups.get(name);
    if (items === undefined) groups.set(name, [toItem(entry)]);
    else items.push(toItem(entry));
  }
  return Array.from(groups, ([name, items]) => ({ name, items })).sort(
    (one, other) => other.items.length - one.items.length,
  );
}

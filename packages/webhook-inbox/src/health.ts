/** How an inbox fares, and what it shows to whoever looks after it. */

export interface InboxHealth {
  /** The engine answered. What counts as too many or too old is for you to say. */
  isReachable: boolean;
  /** Events that wait for their handler, or for its next attempt. */
  waiting: number;
  dead: number;
  /** How long the oldest waiting event has waited. */
  oldestWaitingMs?: number;
  /** Why it is not reachable: kind and place of the error. */
  fault?: string;
}

/** One event in an inbox, without its contents. */
export interface InboxEntry {
  id: string;
  type: string;
  state: "waiting" | "done" | "dead";
  receivedAt: Date;
  attempts: number;
  /** Kind and place of the last attempt's error; its text may quote a customer and is not kept. */
  lastFailure?: string;
}

/** Which entries, and how many. */
export interface ListOptions {
  state?: InboxEntry["state"];
  /** Default 100. */
  limit?: number;
}

/** What the status page and the metrics need of an inbox. */
export interface InspectableInbox {
  /** Never rejects. */
  health(): Promise<InboxHealth>;
  /** Oldest first. */
  list(options?: ListOptions): Promise<InboxEntry[]>;
  /** Gives a dead letter all of its attempts back, as another delivery of the event does. @returns false when there is no such dead letter. */
  replay(eventId: string): Promise<boolean>;
}

/** How an inbox and an outbox continue a trace after they stored an event or an entry. The implementation is `otel.ts`. */

/** Work that gets a span of its own. */
export interface TracedWork {
  /** The first word of the span's name. */
  operation: "receive" | "process" | "issue";
  /** The second word: the type of the event, or `card`. */
  destination: string;
  /** The id of the event. */
  messageId?: string;
  /** What `capture` returned when the event or entry was stored: the span links to that span. */
  traceparent?: string | undefined;
  /** Whether the span has no parent: the worker of a SQLite inbox runs in the context of any delivery that woke it. */
  isRoot?: boolean;
}

/** Created by `inboxTracing` and `outboxTracing` of `/otel`. Its methods never throw. */
export interface Tracing {
  /** Returns the `traceparent` of the active span, of 55 characters; undefined without one. It is stored with the event or entry. */
  capture(): string | undefined;
  /** Runs an async function in a span, which is active meanwhile. @returns its promise. */
  run<Result>(traced: TracedWork, work: () => Promise<Result>): Promise<Result>;
}

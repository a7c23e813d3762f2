/** Planted faults: defects that the histories must find. Each replaces a text that stands once in its file. */

export interface Patch {
  file: string;
  find: string;
  replace: string;
}

export interface PlantedFault extends Patch {
  name: string;
  /** The guarantees that it may break: one of them must be named. */
  guarantees: readonly string[];
}

const client = "packages/issuing-client/src";
const outbox = "packages/issuing-outbox/src";
const inbox = "packages/webhook-inbox/src";
const verify = "packages/webhook-verify/src";

export const plantedFaults: readonly PlantedFault[] = [
  {
    name: "the inbox stores a duplicate again",
    guarantees: ["G3"],
    file: `${inbox}/sqlite/store.ts`,
    find: "WHERE state = 'dead'`,\n  );\n  const leaseDue",
    replace: "WHERE true`,\n  );\n  const leaseDue",
  },
  {
    name: "the receiver acknowledges before the event is stored",
    guarantees: ["G3", "G4"],
    file: `${verify}/delivery.ts`,
    find: "await inbox?.put(event, { body, receivedAt }, { signal: delivery.signal });",
    replace:
      "(inbox?.put(event, { body, receivedAt }, { signal: delivery.signal })?.catch(() => {}), 'stored' as const);",
  },
  {
    name: "the age of a key begins anew with each attempt",
    guarantees: ["G1"],
    file: `${outbox}/lease.ts`,
    find: "first_attempt_at = coalesce(first_attempt_at, $3::text::bigint)",
    replace: "first_attempt_at = $3::text::bigint",
  },
  {
    name: "a correction overtakes a request that may still be running",
    guarantees: ["G1", "G9"],
    file: `${outbox}/record.ts`,
    find: "if (!isStillRunning(leased, nowMs)) {",
    replace: "if (true) {",
  },
  {
    name: "a 409 is final while an earlier request is running",
    guarantees: ["G2", "G1"],
    file: `${client}/retry.ts`,
    find: 'return isConflict && (call.hasEarlierAttempt || call.outcome === "unknown");',
    replace: "return isConflict && false;",
  },
  {
    name: "balances are compared by whole seconds",
    guarantees: ["G4"],
    file: `${inbox}/sqlite/processed.ts`,
    find: ".run(key, parseCreatedAt(event), event.id)",
    replace: ".run(key, Math.floor(parseCreatedAt(event) / 1000), '')",
  },
  {
    name: "balances are taken in the order of arrival",
    guarantees: ["G4"],
    file: `${inbox}/sqlite/processed.ts`,
    find: "WHERE (excluded.created_at, excluded.event_id) > (created_at, event_id)",
    replace: "WHERE true",
  },
  {
    name: "a retry has another key",
    guarantees: ["G1"],
    file: `${client}/retry.ts`,
    find: "await sleep(clock, delayMs, signal);",
    replace: "await sleep(clock, delayMs, signal); request.headers['idempotency-key'] += 'r';",
  },
  {
    name: "each try of the outbox has a new key",
    guarantees: ["G1"],
    file: `${outbox}/sender.ts`,
    find: "          idempotencyKey,\n",
    replace: "          idempotencyKey: idempotencyKey + leased.attempts,\n",
  },
  {
    name: "a commit is not synced",
    guarantees: ["G2", "G3", "G4"],
    file: "internal/sqlite/open-file.ts",
    find: "PRAGMA synchronous = FULL",
    replace: "PRAGMA synchronous = OFF",
  },
  {
    name: "writes are confirmed before the commit",
    guarantees: ["G2", "G3", "G4"],
    file: "internal/sqlite/group-commit.ts",
    find: "for (const entry of entries) settlements.push(run(entry));",
    replace: "for (const entry of entries) run(entry)();",
  },
  {
    name: "a worker that lost its lease writes all the same",
    guarantees: ["G3"],
    file: `${inbox}/sqlite/worker.ts`,
    find: "if (!store.done(leased, clock.nowMs())) return false;",
    replace: "store.done(leased, clock.nowMs());",
  },
  {
    name: "the lease of a killed worker never ends",
    guarantees: ["G3", "G12"],
    file: `${inbox}/sqlite/worker.ts`,
    find: "store.lease(crypto.randomUUID(), nowMs + leaseMs,",
    replace: "store.lease(crypto.randomUUID(), nowMs + leaseMs * 1e6,",
  },
  {
    name: "redirects are followed",
    guarantees: ["G7"],
    file: `${client}/transport.ts`,
    find: 'await fetch(url, { method, headers, body, redirect: "manual", signal })',
    replace: 'await fetch(url, { method, headers, body, redirect: "follow" as never, signal })',
  },
  {
    name: "messages of handlers are logged",
    guarantees: ["G8"],
    file: "internal/reporting.ts",
    find: "{ logErrorMessages = false } = {}",
    replace: "{ logErrorMessages = true } = {}",
  },
  {
    name: "a pause has no end",
    guarantees: ["G12", "G2"],
    file: `${outbox}/pause.ts`,
    find: "if (untilMs > nowMs) return undefined;",
    replace: "if (untilMs > 0) return undefined;",
  },
  {
    name: "the deadline of a sign-up counts for each attempt",
    guarantees: ["G6"],
    file: `${outbox}/issue.ts`,
    find: "const leftMs = endsAtMs - clock.monotonicMs();",
    replace: "const leftMs = deadlineMs;",
  },
  {
    name: "a stale delivery is accepted",
    guarantees: ["G5"],
    file: `${verify}/verify.ts`,
    find: 'if (skewSeconds > toleranceSeconds) return { reason: "stale", skewSeconds };',
    replace: "",
  },
];

/**
 * Planted faults: defects that the histories must find. Each replaces a text that stands once in
 * its file.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of source files.

export interface Patch {
  file: string;
  find: string;
  replace: string;
}

interface PlantedFault extends Patch {
  /** The guarantees that it may break: one of them must be named. */
  guarantees: readonly string[];
}

const client = "packages/issuing-client/src";
const outbox = "packages/issuing-outbox/src";
const inbox = "packages/webhook-inbox/src";
const verify = "packages/webhook-verify/src";

const faults: Readonly<Record<string, PlantedFault>> = {
  "the inbox stores a duplicate again": {
    guarantees: ["G3"],
    file: `${inbox}/sqlite/store-node.ts`,
    find: 'if (known.state !== "dead") return known.key',
    replace: "if (false) return known.key",
  },
  "the receiver acknowledges before the event is stored": {
    guarantees: ["G3", "G4"],
    file: `${verify}/receiver.ts`,
    find: "await inbox.put(event, { body, receivedAt }, delivery);",
    replace:
      "(inbox.put(event, { body, receivedAt }, delivery).catch(() => {}), 'stored' as const);",
  },
  "the age of a key begins anew with each attempt": {
    guarantees: ["G1", "G2", "G12"],
    file: "internal/jobs/lease.ts",
    find: "firstattempt = coalesce(firstattempt, :now)",
    replace: "firstattempt = :now",
  },
  "a correction overtakes a request that may still be running": {
    guarantees: ["G1", "G9"],
    file: `${outbox}/changes.ts`,
    find: "rejectedAtMs >= endsAtMs",
    replace: "rejectedAtMs >= 0",
  },
  "a 409 is final while an earlier request is running": {
    guarantees: ["G2", "G1"],
    file: `${outbox}/verdict.ts`,
    find: 'return isLasting ? "undecidable" : "conflict";',
    replace: 'return isLasting ? "undecidable" : "invalid-form";',
  },
  "balances are compared by whole seconds": {
    guarantees: ["G4"],
    file: `${inbox}/sqlite/processed.ts`,
    find: "key, parseCreatedAt(event), event.id",
    replace: "key, Math.floor(parseCreatedAt(event) / 1000), ''",
  },
  "balances are taken in the order of arrival": {
    guarantees: ["G4"],
    file: `${inbox}/sqlite/processed.ts`,
    find: "WHERE (excluded.created, excluded.event) > (created, event)",
    replace: "WHERE true",
  },
  "a retry has another key": {
    guarantees: ["G1"],
    file: `${client}/send.ts`,
    find: "await sleep(delayMs, settings);",
    replace: "await sleep(delayMs, settings); request.headers['idempotency-key'] += 'r';",
  },
  "each try of the outbox has a new key": {
    guarantees: ["G1"],
    file: `${outbox}/attempt.ts`,
    find: "idempotencyKey: key,",
    replace: "idempotencyKey: key + job.attempts,",
  },
  "a commit is not synced": {
    guarantees: ["G2", "G3", "G4"],
    file: "internal/sqlite/database-node.ts",
    find: "PRAGMA synchronous = FULL",
    replace: "PRAGMA synchronous = OFF",
  },
  "a worker that lost its lease writes all the same": {
    guarantees: ["G3"],
    file: `${inbox}/sqlite/worker.ts`,
    find: "if (settled.job === undefined) return false;",
    replace: "",
  },
  "the lease of a killed worker never ends": {
    guarantees: ["G3", "G12"],
    file: `${inbox}/sqlite/worker.ts`,
    find: "leaseDue(tables, leaseMs, {",
    replace: "leaseDue(tables, leaseMs * 1e6, {",
  },
  "redirects are followed": {
    guarantees: ["G7"],
    file: `${client}/transport-fetch.ts`,
    find: 'redirect: "manual",',
    replace: 'redirect: "follow" as never,',
  },
  "messages of handlers are logged": {
    guarantees: ["G8"],
    file: "internal/reporting.ts",
    find: "options.logErrorMessages === true",
    replace: "options.logErrorMessages !== false",
  },
  "a pause lasts for hours": {
    guarantees: ["G12", "G2"],
    file: "internal/jobs/breaker.ts",
    find: "const minPauseMs = 1_000;",
    replace: "const minPauseMs = 7_100_000;",
  },
  "the deadline of a sign-up counts for each attempt": {
    guarantees: ["G6"],
    file: `${outbox}/issue.ts`,
    find: "  return endsAtMs - client.clock.monotonicMs();",
    replace: "  return client.deadlineMs;",
  },
  "a stale delivery is accepted": {
    guarantees: ["G5"],
    file: `${verify}/signature.ts`,
    find: 'if (skewSeconds > toleranceSeconds) return { failure: { reason: "stale", skewSeconds } };',
    replace: "",
  },
  "a request of a killed process is never sent again": {
    guarantees: ["G2", "G12"],
    file: "internal/jobs/lease.ts",
    find: "ORDER BY j.due\n       LIMIT :limit",
    replace: "AND j.lease IS NULL\n       ORDER BY j.due\n       LIMIT :limit",
  },
  // Chosen by somebody who had not read the simulation.
  "the lease after a kill forgets when a request was first sent": {
    guarantees: ["G1"],
    file: "internal/jobs/lease.ts",
    find: "firstattempt = coalesce(firstattempt, :now)",
    replace: "firstattempt = coalesce(CASE WHEN lease IS NULL THEN firstattempt END, :now)",
  },
  "a correction after a rejection is stored and never sent": {
    guarantees: ["G2", "G12"],
    file: "internal/jobs/add.ts",
    find: "rank = ${ranks.new},\n       key = :key",
    replace: "rank = NULL,\n       key = :key",
  },
  "the user and the owed card are saved in two transactions": {
    guarantees: ["G2", "G10"],
    file: "examples/express/sign-up.ts",
    find: "      if (changes)\n        outbox.add(database, { userId, template, request: toRequest(form) });\n      return changes;\n    });\n",
    replace:
      "      return changes;\n    });\n    if (isNew) {\n      const request = toRequest(form);\n      await outbox.write((database) => outbox.add(database, { userId, template, request }));\n    }\n",
  },
  "a commit waits for the next checkpoint": {
    guarantees: ["G2", "G3", "G4"],
    file: "internal/sqlite/database-node.ts",
    find: "PRAGMA synchronous = FULL",
    replace: "PRAGMA synchronous = NORMAL",
  },
  "the newest balance keeps the time of the first": {
    guarantees: ["G4"],
    file: "packages/webhook-inbox/src/sqlite/processed.ts",
    find: "SET created = excluded.created, event = excluded.event",
    replace: "SET event = excluded.event",
  },
  "a delivery is fresh for an hour": {
    guarantees: ["G5"],
    file: "packages/webhook-verify/src/signature.ts",
    find: "parseTolerance(toleranceSeconds = 300)",
    replace: "parseTolerance(toleranceSeconds = 3600)",
  },
  "deadlines follow the clock of the machine": {
    guarantees: ["G6"],
    file: "packages/issuing-client/src/clock.ts",
    find: "monotonicMs: () => performance.now(),",
    replace: "monotonicMs: () => Date.now(),",
  },
  "the reason of a rejection is logged": {
    guarantees: ["G8"],
    file: "packages/issuing-outbox/src/outcomes.ts",
    find: '      case "not-delivered":\n        return `',
    replace:
      '      case "rejected":\n        return `the service rejected a form: ${toPrintable(outcome.error.userMessage)}`;\n      case "not-delivered":\n        return `',
  },
  "two people without an email are one user": {
    guarantees: ["G9", "G2", "G10"],
    file: "examples/getting-started/loyalty.ts",
    find: "VALUES (?, ?, NULLIF(?, ''))",
    replace: "VALUES (?, ?, ?)",
  },
  "any text is the address of a card": {
    guarantees: ["G10"],
    file: "packages/issuing-client/src/response.ts",
    find: "publicUrl: isHttpUrl,",
    replace: "publicUrl: isString,",
  },
  "time stands still while the clock is set back": {
    guarantees: ["G12", "G2"],
    file: "internal/jobs/sqlite.ts",
    find: "latestMs = clockMs + correctionMs;",
    replace: "latestMs = Math.max(latestMs, clockMs);",
  },
  "the end of an attempt is recorded without its lease": {
    guarantees: ["G1", "G2", "G3"],
    file: "internal/jobs/settle.ts",
    find: "AND coalesce(lease, '') = :lease",
    replace: "AND (true OR lease = :lease)",
  },
  "a commit is a rollback once in ten times": {
    guarantees: ["G1", "G2", "G3"],
    file: "internal/jobs/sqlite.ts",
    find: 'connection.exec("COMMIT");',
    replace: 'connection.exec(Math.random() < 0.1 ? "ROLLBACK" : "COMMIT");',
  },
  "a breaker never closes": {
    guarantees: ["G2", "G12"],
    file: "internal/jobs/breaker.ts",
    find: "WHERE topic = :topic\n       ${waits",
    replace: "WHERE topic = :topic\n         AND due IS NULL\n       ${waits",
  },
  "the outcome of an attempt is forgotten at the next one": {
    guarantees: ["G2"],
    file: `${client}/retry.ts`,
    find: "outcome: addOutcome(before.outcome, result)",
    replace: 'outcome: addOutcome("not-sent", result)',
  },
  "each attempt starts a second timer, which stays": {
    guarantees: ["G6"],
    file: `${client}/clock.ts`,
    find: "const cancelTimer = clock.after(",
    replace: "clock.after(ms, () => {}); const cancelTimer = clock.after(",
  },
  // Defects that stood in the examples until the simulation was written.
  "the first shop takes balances in the order of arrival": {
    guarantees: ["G4"],
    file: "examples/getting-started/loyalty.ts",
    find: "        if (!isNewest(database, `balance of ${passId}`, event)) return;\n",
    replace: "",
  },
  "Express logs a form that is not JSON": {
    guarantees: ["G8"],
    file: "examples/express/shop.ts",
    find: 'error.type === "entity.parse.failed"',
    replace: "false",
  },
};

export const plantedFaults = Object.entries(faults).map(([name, fault]) => ({ name, ...fault }));

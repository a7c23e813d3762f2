/** Settings that all processes of an outbox must share: the service's address, the namespace of the keys and the version of the tables. */
import { withSafeMessage } from "@loyalty-cards/internal/reporting";
import { createKey, hashText } from "./node.ts";
import { schemaVersion } from "./schema.ts";
import { getNow, type Operation, query, toNumber, toOptionalText } from "./statement.ts";

export interface Settings {
  baseUrlHash: string;
  namespaceHash: string;
  /** The key for hashing contacts. Without a key, trying all phones would reverse the hash of a phone. */
  contactKey: string;
  /** The prefix of this process's leases. It is set where other processes can find out whether this process has ended. */
  processId?: string;
}

/**
 * Reads the settings when an outbox is opened; the first process writes them.
 * @param readPlace identifies the file or database, so that a copy is noticed. A copy starts paused, because it does not contain what was
 * sent since it was made. The part after `@` may change without a pause when little time has passed: then a standby server has taken over.
 */
export function* openSettings(
  { baseUrl, idempotencyNamespace }: { baseUrl: string; idempotencyNamespace: string },
  readPlace: string | Operation<string>,
): Operation<Settings> {
  const place = typeof readPlace === "string" ? readPlace : yield* readPlace;
  const baseUrlHash = hashText(baseUrl);
  const namespaceHash = hashText(idempotencyNamespace);
  yield* query(
    `UPDATE issuing_outbox_settings SET base_url_hash = coalesce(base_url_hash, $1::text),
       namespace_hash = coalesce(namespace_hash, $2::text), contact_key = coalesce(contact_key, $3::text), place = coalesce(place, $4::text)
     WHERE base_url_hash IS NULL OR namespace_hash IS NULL OR contact_key IS NULL OR place IS NULL`,
    baseUrlHash,
    namespaceHash,
    createKey(),
    place,
  );
  yield* checkSettings({ baseUrlHash, namespaceHash });
  const [row] = yield* query("SELECT contact_key, place, latest_at FROM issuing_outbox_settings");
  const known = String(row?.["place"]);
  const latestMs = toNumber(row?.["latest_at"]);
  if (known !== place) yield* query("UPDATE issuing_outbox_settings SET place = $1::text", place);
  const isTakenOver = known.split("@")[0] === place.split("@")[0] && (yield* getNow()) - latestMs < 3_600_000;
  if (known !== place && !isTakenOver) {
    yield* query(
      `UPDATE issuing_outbox_scopes SET reason = 'restored', since_at = $1::text::bigint, until_at = NULL, requested_ms = NULL,
         probe = NULL, probes = 0 WHERE template = ''`,
      latestMs,
    );
  }
  return { baseUrlHash, namespaceHash, contactKey: String(row?.["contact_key"]) };
}

/** Runs before each lease: another process may have migrated the tables meanwhile. @throws when this process must not continue. */
export function* checkSettings(settings: Pick<Settings, "baseUrlHash" | "namespaceHash">): Operation<void> {
  const [row] = yield* query(
    `SELECT base_url_hash, namespace_hash, (SELECT max(version) FROM issuing_outbox_schema) AS version
     FROM issuing_outbox_settings`,
  );
  const version = toNumber(row?.["version"]);
  if (version !== schemaVersion) {
    throw withSafeMessage(
      new Error(
        `The tables of the outbox are of version ${version}, and this process knows version ${schemaVersion}: update @loyalty-cards/issuing-outbox in every process.`,
      ),
    );
  }
  if (toOptionalText(row?.["base_url_hash"]) !== settings.baseUrlHash)
    throw otherSettings(
      "baseUrl",
      "base_url_hash",
      " (http://localhost:4010 and http://127.0.0.1:4010 differ)",
    );
  if (toOptionalText(row?.["namespace_hash"]) !== settings.namespaceHash)
    throw otherSettings("idempotencyNamespace", "namespace_hash");
}

const otherSettings = (option: string, column: string, hint = "") =>
  withSafeMessage(
    new Error(
      `The client has another ${option} than the one with which this outbox was created: its keys would issue second cards. Use the same ${option}${hint}; during development you can delete the tables. To change it on purpose, let the outbox become empty of waiting entries, stop all processes, and run "UPDATE issuing_outbox_settings SET ${column} = NULL".`,
    ),
  );

/** Records the current time, at most once a minute. A copy of the database then shows up to which time it is complete. */
export function* recordTime(nowMs: number): Operation<void> {
  yield* query(
    "UPDATE issuing_outbox_settings SET latest_at = $1::text::bigint WHERE latest_at < $1::text::bigint - 60000",
    nowMs,
  );
}

/**
 * The service stores a key for 24 hours ([spec 8](https://loyalty-cards.github.io/loyalty-cards/specification#spec-8)); every request of a younger copy can
 * be sent again.
 */
const safeCopyAgeMs = 23 * 3_600_000;

/** Ends the pause of a copy. @returns how many waiting entries became unknown, because they may have been sent since the copy was made. */
export function* resumeCopy(resend: boolean): Operation<number> {
  const nowMs = yield* getNow();
  const [scope] = yield* query(
    "SELECT since_at FROM issuing_outbox_scopes WHERE template = '' AND reason = 'restored'",
  );
  if (scope === undefined) return 0;
  yield* query(
    "UPDATE issuing_outbox_scopes SET reason = NULL, since_at = NULL, until_at = NULL WHERE template = ''",
  );
  if (resend || nowMs - toNumber(scope["since_at"]) < safeCopyAgeMs) return 0;
  const rows = yield* query(
    `UPDATE issuing_outbox_entries SET state = 'unknown', work = NULL, lease = NULL, error_code = 'idempotency-expired', ended_at = $1::text::bigint
     WHERE state = 'waiting' RETURNING id`,
    nowMs,
  );
  return rows.length;
}

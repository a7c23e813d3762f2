/** What the response to COMMIT says, and which errors mean that the server is lost. */
import { withSafeMessage } from "../errors.ts";
import { hasCode } from "./client.ts";

/** @throws when PostgreSQL reports that its COMMIT was a ROLLBACK. */
export function requireCommitted(command: string | undefined): void {
  if (command !== "ROLLBACK") return;
  throw withSafeMessage(
    new Error(
      "PostgreSQL rolled the transaction back at COMMIT: a query in it had failed, and its error was ignored.",
    ),
  );
}

/**
 * 08007 transaction_resolution_unknown: the code of the cause must not count as that of a rollback.
 */
export const createUnknownCommit = (cause: unknown): Error =>
  Object.assign(
    new Error("COMMIT got no response: whether the transaction was committed is unknown.", {
      cause,
    }),
    { code: "08007" },
  );

/**
 * 25006 read_only_sql_transaction, 57P01 admin_shutdown, 57P02 crash_shutdown, 57P03
 * cannot_connect_now: after a failover another connection reaches the new server, this one never.
 */
export const isServerLost = (error: unknown): boolean =>
  hasCode(error, "25006", "57P01", "57P02", "57P03");

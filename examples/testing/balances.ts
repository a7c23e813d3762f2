/** The code under test: the webhook receiver of this shop. */
// #region balances
// balances.ts
import type { SqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { isNewest } from "@loyalty-cards/webhook-inbox/sqlite";
import {
  memoryDedupe,
  onEvents,
  type ReceiverOptions,
} from "@loyalty-cards/webhook-verify";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";

/** @param write runs a transaction of the shop's database. */
export const receiveBalances = (
  options: ReceiverOptions,
  write: SqliteOutbox["write"],
) =>
  fetchReceiver({
    ...options,
    dedupe: memoryDedupe(),
    handler: onEvents({
      "balance.changed": (event) =>
        write((database) => {
          const { passId, balance } = event.data;
          // an older event can arrive later
          if (!isNewest(database, `balance of ${passId}`, event)) return;
          const store = "INSERT OR REPLACE INTO balances VALUES (?, ?)";
          database.prepare(store).run(passId, balance);
        }),
      otherTypes: () => {},
    }),
  });
// #endregion

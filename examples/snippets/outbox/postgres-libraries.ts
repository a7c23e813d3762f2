/** Transactions of other PostgreSQL libraries for `add`, `correct`, `markProcessed`, `isNewest`. */
import {
  fromKysely,
  type PostgresTransaction,
} from "@loyalty-cards/issuing-outbox/postgres";
import type { SqlEntityManager } from "@mikro-orm/postgresql";
import type { Knex } from "knex";
import { CompiledQuery } from "kysely";
import type { ITask } from "pg-promise";
import type { EntityManager } from "typeorm";

// #region libraries
export const fromPgPromise = (task: ITask<object>): PostgresTransaction => ({
  query: (text, values) => task.result({ text, values }),
});

export const fromKnex = (trx: Knex.Transaction): PostgresTransaction => ({
  query: (text, values) => {
    const order = text.match(/(?<=\$)\d+/g) ?? [];
    const bindings = order.map((number) => values[Number(number) - 1] ?? null);
    return trx.raw(text.replace(/\$\d+/g, "?"), bindings);
  },
});

export const fromTypeOrm = (manager: EntityManager): PostgresTransaction => ({
  query: async (text, values) => {
    const result = await manager.query(text, values); // of UPDATE: [rows, count]
    return { rows: Array.isArray(result[0]) ? result[0] : result };
  },
});

/** MikroORM 7. Version 6 uses Knex: fromKnex(em.getTransactionContext()). */
export const fromMikroOrm = (em: SqlEntityManager): PostgresTransaction =>
  fromKysely(em.getKysely(), CompiledQuery);
// #endregion

/** SQLite databases that report their statements. */
import { type OpenSqlite, openSqlite } from "@loyalty-cards/internal/sqlite/database-node";

/**
 * For the option `open`.
 * @param onStatement gets each statement before it runs.
 */
export const openWatched =
  (onStatement: (sql: string) => void, open = openSqlite): OpenSqlite =>
  (file) => {
    const database = open(file);
    return {
      close: () => database.close(),
      exec(sql) {
        onStatement(sql);
        return database.exec(sql);
      },
      prepare(sql) {
        const statement = database.prepare(sql);
        const watch = (method: "run" | "get" | "all") =>
          ((...values: never[]) => {
            onStatement(sql);
            return statement[method](...values);
          }) as never;
        return { run: watch("run"), get: watch("get"), all: watch("all") };
      },
    };
  };

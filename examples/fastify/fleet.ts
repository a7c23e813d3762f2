/** `npm start`: two processes behind one port; a process that exits is replaced. */
import cluster from "node:cluster";
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { openReceiver } from "./receiver.ts";
import { addSignUp } from "./sign-up.ts";

const { DATABASE_URL, DATABASE_SCHEMA, LOYALTY_TEMPLATE_ID, PORT } = process.env;
if (!LOYALTY_TEMPLATE_ID) throw new Error("Set LOYALTY_TEMPLATE_ID.");

/** Codes of wrong settings and of a port that is taken: starting again does not help. */
const finalCodes = ["configuration", "EADDRINUSE"];

if (cluster.isPrimary) {
  let isStopping = false;
  for (let count = 0; count < 2; count++) cluster.fork();
  cluster.on("exit", (_worker, code) => {
    if (code === 2) process.exitCode = 2;
    else if (!isStopping) cluster.fork();
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      isStopping = true;
      for (const worker of Object.values(cluster.workers ?? {}))
        worker?.kill(signal);
    });
  }
} else {
  let isClosing = false;
  try {
    const { app, pool, close } = await openReceiver({
      databaseUrl:
        DATABASE_URL ?? "postgres://postgres:postgres@127.0.0.1:5432/postgres",
      ...(DATABASE_SCHEMA !== undefined && { schema: DATABASE_SCHEMA }),
    });
    // The client reads LOYALTY_URL and LOYALTY_API_KEY.
    addSignUp(app, createIssuingClient(), pool, LOYALTY_TEMPLATE_ID);
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (isClosing) return; // Ctrl-C arrives twice: also from the first process
        isClosing = true;
        void close().then(() => process.exit(0));
      });
    }
    console.log(`receiving on ${await app.listen({ port: Number(PORT ?? 3000) })}`);
  } catch (error) {
    if (!isClosing) {
      console.error(error);
      const { code = "" } = error as { code?: string };
      if (finalCodes.includes(code)) process.exit(2);
      setTimeout(() => process.exit(1), 1_000); // PostgreSQL may be reachable later
    }
  }
}

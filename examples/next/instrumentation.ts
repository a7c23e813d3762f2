/** Next calls this once when the server starts. */
// #region instrumentation
// instrumentation.ts
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { start } = await import("./shop/loyalty");
  await start();
}
// #endregion

/** The shop of the guide "Getting started" on Next: opens the shop when the server starts. */
// #region next-instrumentation
// instrumentation.ts
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { openShop } = await import("./loyalty");
  await openShop();
}
// #endregion

/** Checks a running receiver and lists what to change. */
// #region doctor
import { checkReceiver } from "@loyalty-cards/mock-server/doctor";

export async function findProblems(url: string, secret: string): Promise<string[]> {
  const { findings } = await checkReceiver({ url, secret });
  return findings
    .filter(({ verdict }) => verdict !== "pass")
    .map(({ check, clause, sent, observed, advice }) => {
      return `${check} (spec ${clause}): sent ${sent}, it ${observed}. ${advice}`;
    });
}
// #endregion

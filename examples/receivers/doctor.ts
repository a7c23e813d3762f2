/** Examines a running receiver and tells what is wrong with it. */
// #region doctor
import { examineReceiver } from "@loyalty-cards/webhook-verify/doctor";

export async function whatIsWrong(url: string, secret: string): Promise<string[]> {
  const { findings } = await examineReceiver({ url, secret });
  return findings
    .filter(({ verdict }) => verdict !== "pass")
    .map(({ check, clause, sent, observed, advice }) => {
      return `${check} (spec ${clause}): sent ${sent}, it ${observed}. ${advice}`;
    });
}
// #endregion

/** Runs the doctor against a receiver that a test starts, and stops the receiver when the test has finished. */
import { onTestFinished } from "vitest";
import type { RunningServer } from "../../../webhook-verify/test/adapter-contract.ts";
import { secret } from "../../../webhook-verify/test/signed-delivery.ts";
import { type CheckReceiverOptions, checkReceiver } from "../../src/doctor/check-receiver.ts";

/** `onFinished` is that of the test context where tests run concurrently. */
export async function check(
  starting: Promise<RunningServer>,
  options: Partial<CheckReceiverOptions> = {},
  onFinished: (close: () => Promise<void>) => void = onTestFinished,
) {
  const { url, close } = await starting;
  onFinished(async () => void (await close()));
  const { passed, findings } = await checkReceiver({ url, secret, timeoutMs: 5_000, ...options });
  const flagged = findings.filter(({ verdict }) => verdict !== "pass");
  return { passed, findings, flagged, names: flagged.map(({ check, verdict }) => `${verdict} ${check}`) };
}

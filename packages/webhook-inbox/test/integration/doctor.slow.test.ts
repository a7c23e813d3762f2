/** The doctor passes receivers that store their effects as our documentation says, also when it kills them. */
import { afterAll, describe, it } from "vitest";
import { checkReceiver } from "../../../mock-server/src/doctor/check-receiver.ts";
import { bundleProgram } from "../../../mock-server/test/doctor/restartable.ts";

const program = bundleProgram(new URL("../doctor-receivers.ts", import.meta.url), ["express", "libsql"]);
afterAll(program.remove);

describe.concurrent("the doctor with a probe and restarts", { timeout: 90_000 }, () => {
  it.for([
    ["the SQLite inbox and its worker", "inbox"],
    ["Express, markProcessed and isNewest", "isNewest"],
  ])("passes a receiver with %s", async ([_name, kind = ""], { expect, onTestFinished }) => {
    const { url, restart, close } = await program.start(kind);
    onTestFinished(close);
    const { passed, findings } = await checkReceiver({
      url,
      secret: "whsec_mock_4fZr0nXqT1",
      probe: new URL("/probe", url),
      restart,
    });
    expect(findings.filter(({ verdict }) => verdict !== "pass")).toEqual([]);
    expect(passed).toBe(true);
    expect(findings.filter(({ check }) => check.startsWith("effect-"))).toHaveLength(10);
  });
});

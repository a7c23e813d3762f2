/** `drift`: the differences between the OpenAPI document of a service and the contract that these packages were built from. */
import { type Command, Option } from "commander";
import { addExamples, type Cli, setAction } from "../command.ts";
import { exitCodes } from "../command-error.ts";
import { readBaseUrl } from "../configuration.ts";
import { compareWithService } from "../drift/compare-with-service.ts";
import { Text } from "../printable.ts";

interface DriftOptions {
  from?: string;
  failOn?: "breaking" | "any";
}

export function addDriftCommand(program: Command, cli: Cli): void {
  const drift = program
    .command("drift")
    .description("compare the OpenAPI document of a service with the contract of this command")
    .option("--from <base-url>", "address of the service (default: --base-url or LOYALTY_URL)")
    .addOption(
      new Option("--fail-on <severity>", "exit with 1 for such a difference").choices(["breaking", "any"]),
    );
  addExamples(drift, "loyalty-cards drift --from https://cards.example.com --fail-on breaking");
  setAction<DriftOptions>(cli, drift, async (context, { from, failOn }) => {
    const { formatDrift } = await import("../drift/drift.ts");
    const { environment, globals, print, timeoutMs } = context;
    const found = await compareWithService(from ?? readBaseUrl(globals.baseUrl, environment), timeoutMs);
    const { differences, notes } = found;
    print.data({ differences, notes }, () =>
      Text.lines([...formatDrift(found)]).reflow(print.dataColumns, " ".repeat(12)),
    );
    const failures = differences.filter(({ severity }) => failOn === "any" || severity === failOn);
    return failures.length > 0 ? exitCodes.failed : exitCodes.complete;
  });
}

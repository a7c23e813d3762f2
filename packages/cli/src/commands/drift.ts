/** `drift`: the differences between the OpenAPI document of a service and the contract that these packages were built from. */
import { type Command, Option } from "commander";
import { addExamples, type Cli, setAction } from "../command.ts";
import { CommandError, exitCodes } from "../command-error.ts";
import { readBaseUrl } from "../configuration.ts";
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
    print.data({ differences, notes }, () => Text.lines([...formatDrift(found)]));
    const failures = differences.filter(({ severity }) => failOn === "any" || severity === failOn);
    return failures.length > 0 ? exitCodes.failed : exitCodes.complete;
  });
}

/** Compares the document that the service serves. @throws {CommandError} when it serves none. */
export async function compareWithService(baseUrl: string, timeoutMs: number) {
  const [{ compareContracts }, { UnusableDocumentError }, { fetchDocument }, { default: contract }] =
    await Promise.all([
      import("../drift/drift.ts"),
      import("../drift/document.ts"),
      import("../drift/document-reader.ts"),
      import("@loyalty-cards/openapi/openapi.json", { with: { type: "json" } }),
    ]);
  const read = () => fetchDocument(baseUrl, { timeoutMs });
  try {
    const served = await read().catch((error: Error) => {
      const isClosed = error.cause instanceof Error && error.cause.name !== "TimeoutError";
      if (isClosed) return read(); // by a service that restarts or limits its connections
      throw error;
    });
    return compareContracts(contract, served);
  } catch (error) {
    if (error instanceof UnusableDocumentError) throw new CommandError(error.message);
    throw error;
  }
}

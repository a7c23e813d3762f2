/** Compares the contract of this command with the document that a service serves. Loads the modules that it needs when it is called. */
import { CommandError } from "../command-error.ts";

/** Compares the document that the service serves. @throws {CommandError} when it serves none. */
export async function compareWithService(baseUrl: string, timeoutMs: number) {
  const [{ compareContracts }, { UnusableDocumentError }, { fetchDocument }, { default: contract }] =
    await Promise.all([
      import("./drift.ts"),
      import("./document.ts"),
      import("./document-reader.ts"),
      import("@loyalty-cards/openapi/openapi.json", { with: { type: "json" } }),
    ]);
  const read = () => fetchDocument(baseUrl, { timeoutMs });
  try {
    const served = await read().catch((error: Error) => {
      const isClosed = error.cause instanceof Error && error.cause.name !== "TimeoutError";
      if (isClosed) return read(); // services close connections when they restart or have too many
      throw error;
    });
    return compareContracts(contract, served);
  } catch (error) {
    if (error instanceof UnusableDocumentError) throw new CommandError(error.problem, { fix: error.advice });
    throw error;
  }
}

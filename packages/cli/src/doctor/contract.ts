/** Whether the OpenAPI document of a service has the operations that the client calls. */
import { operations } from "@loyalty-cards/openapi/operations";
import { getFetchFailure, readDocument } from "./contact.ts";
import { failed, passed, type Result, warning } from "./result.ts";

/** The service may have a prefix before the path, and other names of parameters. */
export async function checkContract(baseUrl: string, timeoutMs: number): Promise<Result> {
  const address = `${baseUrl}/api/docs/json`;
  const advice = "Is this the address of the service, without /api/v1?";
  let paths: Record<string, object>;
  try {
    const { status, bytes } = await readDocument(address, timeoutMs);
    if (status !== 200) return warning(`${address} responded ${status}`, advice);
    paths = JSON.parse(Buffer.from(bytes ?? []).toString()).paths;
  } catch (error) {
    const code = getFetchFailure(error);
    const problem = code === undefined ? "is not an OpenAPI document" : `could not be read (${code})`;
    return warning(`${address} ${problem}`, advice);
  }
  const served = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item ?? {}).map((method) => ({ method: method.toUpperCase(), shape: toShape(path) })),
  );
  const missing = Object.values(operations).filter(
    ({ method, path }) => !served.some((one) => one.method === method && one.shape.endsWith(toShape(path))),
  );
  if (missing.length === 0) return passed("has every operation");
  const names = missing.map(({ method, path }) => `${method} ${path}`).join(", ");
  const fix =
    "Compare both documents: https://loyalty-cards.github.io/loyalty-cards/assumptions#compare-with-your-service";
  return failed(`the service's document has no ${names}`, fix);
}

const toShape = (path: string) => path.replaceAll(/(?<=\/)\{[^/]*/g, "{}");

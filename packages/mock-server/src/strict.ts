/** Holds every answer and every event against the document at run time: for those who change the service. */
import { contract } from "@loyalty-cards/openapi/contract";
import openapi from "@loyalty-cards/openapi/openapi.json" with { type: "json" };
import { ContractViolation } from "./domain/contract-violation.ts";
import { Problem } from "./domain/problem.ts";
import type { InspectAnswer } from "./http/api.ts";

interface Described {
  operationId: string;
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: { $ref: string } }> }>;
}

const operations = new Map(
  Object.values(openapi.paths as unknown as Record<string, Record<string, Described>>)
    .flatMap((path) => Object.values(path))
    .map((operation) => [operation.operationId, operation]),
);

const webhooks = openapi.webhooks as unknown as Record<
  string,
  { post: { requestBody: { content: Record<string, { schema: { $ref: string } }> } } }
>;

/** @throws {ContractViolation} for a status or a shape that the document does not describe. */
export const inspectAnswer: InspectAnswer = (operationId, answer) => {
  const { status } = answer;
  const described = operations.get(operationId)?.responses[String(status)];
  if (described === undefined) throw new ContractViolation(`${operationId} may not answer ${status}.`);
  if (answer instanceof Problem) hold("Problem", answer.toJSON(), `${operationId}, ${status}`);
  else {
    const schema = described.content?.["application/json"]?.schema.$ref;
    hold(nameOf(schema), answer.body, `${operationId}, ${status}`);
  }
  return answer;
};

/** @throws {ContractViolation} */
export function inspectEvent(type: string, event: unknown): void {
  const schema = webhooks[type]?.post.requestBody.content["application/json"]?.schema.$ref;
  hold(nameOf(schema), event, `event ${type}`);
}

const nameOf = (reference: string | undefined) => reference?.split("/").at(-1) ?? "";

function hold(name: string, value: unknown, where: string): void {
  const validator = contract[name];
  if (validator === undefined) throw new ContractViolation(`${where}: the document has no schema "${name}".`);
  if (validator(value)) return;
  const faults = (validator.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath || "/"} ${message}`,
  );
  throw new ContractViolation(`${where} is not as the document's ${name} says: ${faults.join(", ")}.`);
}

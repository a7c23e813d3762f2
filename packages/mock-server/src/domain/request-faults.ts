/** Says in plain sentences what a request body lacks, from what the compiled schemas found. */
import type { ValidationError, Validator } from "@loyalty-cards/openapi/validators";
import type { MemberFault } from "./problem.ts";

export function faultsOf(validator: Validator<unknown>): MemberFault[] {
  return (validator.errors ?? []).map(faultOf);
}

function faultOf({ instancePath, keyword, params, message }: ValidationError): MemberFault {
  if (keyword === "required") {
    const pointer = `${instancePath}/${params["missingProperty"]}`;
    return { pointer, detail: `"${nameOf(pointer)}" is missing.` };
  }
  const what = instancePath === "" ? "The body" : `"${nameOf(instancePath)}"`;
  const rule =
    keyword === "pattern" ? "must not be blank" : keyword === "type" ? typeRule(params["type"]) : message;
  return { pointer: instancePath, detail: `${what} ${rule}.` };
}

const nameOf = (pointer: string) => pointer.slice(1).replaceAll("/", ".");
const typeRule = (type: unknown) => `must be of type ${String(type).replaceAll(",", " or ")}`;

/** Says of what somebody wrote by hand which members are wrong, and by which rule. */
import type { MemberFault } from "./problem.ts";

/** What is wrong with a value; the pointer is where it stands. */
export type Shape = (value: unknown, pointer: string) => MemberFault[];

/** Input that makes no sense, with every fault in it. */
export class InputError extends TypeError {
  override name = "InputError" as const;
  readonly faults: readonly MemberFault[];

  constructor(faults: readonly MemberFault[]) {
    super(faults.map(({ detail }) => detail).join(" "));
    this.faults = faults;
  }
}

/** The value, now known to have the shape. @throws {InputError} */
export function checked<Value>(shape: Shape, value: unknown): Value {
  const faults = shape(value, "");
  if (faults.length > 0) throw new InputError(faults);
  return value as Value;
}

export const text: Shape = (value, pointer) =>
  typeof value === "string" && value.trim() !== "" ? [] : [must(pointer, "be a text that is not blank")];

/** An object whose members are nobody's business here. */
export const anyObject: Shape = (value, pointer) => (isObject(value) ? [] : [must(pointer, "be an object")]);

export interface NumberRule {
  moreThan?: number;
  atLeast?: number;
  atMost?: number;
  isWhole?: boolean;
}

export function number({ moreThan, atLeast, atMost, isWhole = false }: NumberRule = {}): Shape {
  const limits = [
    moreThan !== undefined && `more than ${moreThan}`,
    atLeast !== undefined && `at least ${atLeast}`,
    atMost !== undefined && `at most ${atMost}`,
  ].filter((limit) => limit !== false);
  const rule = `be a ${isWhole ? "whole " : ""}number${limits.length === 0 ? "" : `, ${limits.join(" and ")}`}`;
  return (value, pointer) => {
    const isRight =
      typeof value === "number" &&
      Number.isFinite(value) &&
      (moreThan === undefined || value > moreThan) &&
      (atLeast === undefined || value >= atLeast) &&
      (atMost === undefined || value <= atMost) &&
      (!isWhole || Number.isInteger(value));
    return isRight ? [] : [must(pointer, rule)];
  };
}

export const truth: Shape = (value, pointer) =>
  typeof value === "boolean" ? [] : [must(pointer, "be true or false")];

export function oneOf(values: readonly string[]): Shape {
  return (value, pointer) =>
    values.includes(value as string) ? [] : [must(pointer, `be one of ${values.join(", ")}`)];
}

export function listOf(shape: Shape, atLeast = 0): Shape {
  return (value, pointer) => {
    if (!Array.isArray(value)) return [must(pointer, "be a list")];
    if (value.length < atLeast) return [must(pointer, `have at least ${atLeast} of them`)];
    return value.flatMap((entry, index) => shape(entry, `${pointer}/${index}`));
  };
}

/** An object with these members and no others: a typing error is named, not ignored. */
export function object(members: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  return (value, pointer) => {
    if (!isObject(value)) return [must(pointer, "be an object")];
    const faults: MemberFault[] = required
      .filter((name) => value[name] === undefined)
      .map((name) => fault(`${pointer}/${name}`, "is missing"));
    for (const [name, member] of Object.entries(value)) {
      const shape = Object.hasOwn(members, name) ? members[name] : undefined;
      if (shape === undefined) {
        const known = Object.keys(members).join(", ") || "none";
        faults.push(fault(`${pointer}/${name}`, `is not known; there are ${known}`));
      } else if (member !== undefined) faults.push(...shape(member, `${pointer}/${name}`));
    }
    return faults;
  };
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether objects and lists are nested deeper than this; a value that contains itself is. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

const must = (pointer: string, rule: string) => fault(pointer, `must ${rule}`);

function fault(pointer: string, sentence: string): MemberFault {
  const name = pointer.slice(1).replaceAll("/", ".");
  return { pointer, detail: `${name === "" ? "The body" : `"${name}"`} ${sentence}.` };
}

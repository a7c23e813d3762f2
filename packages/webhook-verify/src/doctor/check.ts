/** One thing a receiver is examined for, and the three ways to judge an answer. */
import type { Bench } from "./bench.ts";
import type { Answer, Send, Shipment } from "./send.ts";

export interface Check {
  /** The part of the specification that is examined. */
  clause: string;
  sends: string;
  /** What is wrong with an answer, in words; undefined when nothing is. */
  judged: (answer: Answer) => string | undefined;
  /** Not forbidden, but it will cost deliveries or memory one day. */
  isAdvisory?: true;
  /** What to change; a function where that depends on the response. */
  advice: string | ((answer: Answer, bench: Bench, send: Send) => Promise<string>);
  shipments: (bench: Bench) => Promise<Shipment[]>;
}

/** Answered 2xx. */
export const taken = judging(2);
/** Answered 4xx; the example of the specification says 401. */
export const refused = judging(4);
export const survived = judging(2, 4);

function judging(...right: number[]): Check["judged"] {
  return (answer) => {
    const { status } = answer;
    if (status === undefined) return inWords(answer);
    const kind = Math.floor(status / 100);
    if (kind === 0 || kind === 3) return `answered ${status}, and the service follows no redirects`; // spec 6.3.5
    return right.includes(kind) ? undefined : inWords(answer);
  };
}

export function inWords({ status, fault, durationMs }: Answer): string {
  if (status !== undefined) return `answered ${status}`;
  return fault === "too-slow" ? `no answer in ${Math.round(durationMs)} ms` : "hung up without an answer";
}

/** One shipment for each of several values. */
export const each = <Given>(
  given: readonly Given[],
  shipment: (one: Given) => Shipment | Promise<Shipment>,
): Promise<Shipment[]> => Promise.all(given.map(shipment));

/** Checks by name, and nothing more about their types: what is published must not depend on the compiler that made it. */
export const checks = <Name extends string>(all: Record<Name, Check>): Record<Name, Check> => all;

/** The types of the compiled validators of what the service answers and sends. */
import type { Validator } from "./validators.js";

/** By the name of the schema. */
export declare const contract: Readonly<Record<string, Validator<unknown>>>;

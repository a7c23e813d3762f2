/** The types of the compiled validators of the control API. */
import type { components } from "./control.ts";
import type { ValidationError } from "./validators.d.ts";

export interface ControlValidationError extends ValidationError {
  /** The schema that the value violates. */
  parentSchema: Readonly<Record<string, unknown>>;
}

export interface ControlValidator<Value = unknown> {
  (value: unknown): value is Value;
  /** All errors of the value that was validated last. */
  errors?: readonly ControlValidationError[] | null;
}

type Body<Name extends keyof components["schemas"]> = ControlValidator<components["schemas"][Name]>;

export declare const isApiKeyInput: Body<"ApiKeyInput">;
export declare const isTemplateInput: Body<"TemplateInput">;
export declare const isPointsInput: Body<"PointsInput">;
export declare const isCorrectionInput: Body<"CorrectionInput">;
export declare const isEndpointInput: Body<"EndpointInput">;
export declare const isEndpointChange: Body<"EndpointChange">;
export declare const isClockSetting: Body<"ClockSetting">;
export declare const isAdvanceInput: Body<"AdvanceInput">;
export declare const isFaultInput: Body<"FaultInput">;
export declare const isWaitCondition: Body<"WaitCondition">;
export declare const isWaitInput: Body<"WaitInput">;

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

export declare const TemplateInput: Body<"TemplateInput">;
export declare const PointsInput: Body<"PointsInput">;
export declare const CorrectionInput: Body<"CorrectionInput">;
export declare const EndpointInput: Body<"EndpointInput">;
export declare const EndpointChange: Body<"EndpointChange">;
export declare const ClockSetting: Body<"ClockSetting">;
export declare const AdvanceInput: Body<"AdvanceInput">;
export declare const FaultInput: Body<"FaultInput">;
export declare const WaitCondition: Body<"WaitCondition">;
export declare const WaitInput: Body<"WaitInput">;

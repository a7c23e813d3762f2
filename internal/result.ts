/** How an expected failure is returned: as a value, which the caller narrows with `failure`. */
export type Result<Value, Failure> =
  | { value: Value; failure?: undefined }
  | { failure: Failure; value?: undefined };

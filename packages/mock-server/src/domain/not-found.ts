/** Says that something asked for by its identifier does not exist. */
export class NotFoundError extends RangeError {
  override name = "NotFoundError" as const;
}

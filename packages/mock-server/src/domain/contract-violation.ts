/** The service itself broke the contract; only strict services look. */
export class ContractViolation extends Error {
  override name = "ContractViolation" as const;
}

/** Formats the link to the page of an error. Each message with a code or a reason ends with it. */

/** @param page the name of a page in `docs/errors`, such as `rate-limited`. */
export const formatErrorLink = (page: string): string =>
  ` See https://loyalty-cards.github.io/loyalty-cards/errors/${page}`;

/** The link to the page of an error: the end of each message that has a code or a reason. */

/** @param page `rate-limited`: the name of a page in `docs/errors`. */
export const formatErrorLink = (page: string): string =>
  ` See https://loyalty-cards.github.io/loyalty-cards/errors/${page}`;

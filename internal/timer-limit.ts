/** The limit of `setTimeout`. */

/** The longest delay of `setTimeout`, about 24.8 days; a longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

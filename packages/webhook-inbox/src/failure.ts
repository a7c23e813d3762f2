/** What may be kept of an error: its kind and where it was thrown. Its text may quote a customer. */
export function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return `something threw ${error === null ? "null" : typeof error}`;
  // Only behind the text: a text of several lines can look like a stack.
  const { stack = "", message, name } = error;
  const behind = stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : "";
  const frame = /^\s+at (.+)$/m.exec(behind)?.[1];
  return frame === undefined ? name : `${name} at ${frame}`;
}

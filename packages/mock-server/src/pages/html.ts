/** Template literals for HTML and SVG: each value is escaped, unless it is markup from the same function. */
import { escapeHtml } from "@loyalty-cards/internal/format";

/** Markup of our own, which needs no escaping. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** A value of the template literal; undefined and null are an empty string. */
export type Piece = string | number | Markup | readonly Markup[] | undefined | null;

/** Write quotes around attributes in the template: `href="${address}"`. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${written(pieces[index - 1])}${part}`));
}

function written(piece: Piece): string {
  if (piece === undefined || piece === null) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "string" || typeof piece === "number") return escapeHtml(String(piece));
  return piece.map(({ text }) => text).join("");
}

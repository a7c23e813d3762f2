/** Writes HTML and SVG in which everything that is put in is escaped, unless it is such a piece itself. */
import { escapeHtml } from "@loyalty-cards/internal/format";

/** Markup that was written here, and not by a customer. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** What may stand in a gap; undefined and null leave it empty. */
export type Piece = string | number | Markup | readonly Markup[] | undefined | null;

/** Attributes need their quotes in the template: `href="${address}"`. */
export function html(parts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(parts.reduce((text, part, index) => `${text}${written(pieces[index - 1])}${part}`));
}

function written(piece: Piece): string {
  if (piece === undefined || piece === null) return "";
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "string" || typeof piece === "number") return escapeHtml(String(piece));
  return piece.map(({ text }) => text).join("");
}

/** Pages with a card: its links, and its QR code as SVG. Runs in a browser too. */
import { toQrPath } from "@loyalty-cards/internal/qr-code";
import { cardLinks } from "./card-links.ts";
import { configurationError } from "./errors.ts";

export { type CardLinks, cardLinks } from "./card-links.ts";

/** Options of {@link qrCodeSvg}. */
interface QrCodeOptions {
  /** Width and height in CSS pixels. Default 240. Scanners need about 160 on a screen, and 25 mm on paper. */
  sizePx?: number | undefined;
}

/** The capacity of the largest QR code, version 40, with error correction M. */
const maxQrBytes = 2331;

/**
 * Returns the QR code of a card as SVG: the address of its page, dark on white in light and dark pages, with the margin that scanners
 * need.
 * @param card a card, or its `publicUrl`.
 * @param options `sizePx`: width and height in CSS pixels; default 240.
 * @throws {IssuingError} `configuration` when the address is not http or https, or too long for a QR code (2 331 bytes), and for a
 * `sizePx` that is not above 0.
 * @example
 * ```ts
 * import { qrCodeSvg } from "@loyalty-cards/issuing-client/links";
 *
 * const svg = qrCodeSvg("https://cards.example.com/cards/8sT2kq", { sizePx: 320 });
 * ```
 */
export function qrCodeSvg(card: { publicUrl: string } | string, options: QrCodeOptions = {}): string {
  const { sizePx = 240 } = options;
  if (!(Number.isFinite(sizePx) && sizePx > 0))
    throw configurationError(`sizePx must be a number above 0, not ${String(sizePx)}.`);
  const { page } = cardLinks(card);
  if (page.length > maxQrBytes)
    throw configurationError(`publicUrl is too long for a QR code: at most ${maxQrBytes} bytes.`);
  const { size, path } = toQrPath(page);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img" aria-label="QR code"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`;
}

/** The first wallet's pass: a complete archive without a signature, because only the real service can sign it. */
import { toHex } from "@loyalty-cards/internal/format";
import { strToU8, zipSync } from "fflate";
import { formatPoints } from "./card-page.ts";
import { type CardView, selectColours } from "./card-view.ts";
import { staticFiles } from "./node-static-files.ts";

const icons = ["icon.png", "icon@2x.png", "icon@3x.png"];

const notice =
  "This pass was created by a mock service. It has no signature, so phones reject it; everything else is as in a real pass.\n";

/** @param nowMs the date of the files in the archive. */
export async function walletPass(view: CardView, nowMs: number): Promise<Uint8Array<ArrayBuffer>> {
  const files: Record<string, Uint8Array<ArrayBuffer>> = {
    "pass.json": strToU8(JSON.stringify(passJson(view), null, 2)),
    "UNSIGNED.txt": strToU8(notice),
  };
  for (const name of icons) files[name] = staticFiles.get(`pass/${name}`) as Uint8Array<ArrayBuffer>;
  const hashes: Record<string, string> = {};
  for (const [name, bytes] of Object.entries(files)) hashes[name] = await sha1(bytes);
  const manifest = strToU8(JSON.stringify(hashes, null, 2));
  return zipSync({ ...files, "manifest.json": manifest }, { mtime: zipDate(nowMs) });
}

/** ZIP archives have dates from 1980 to 2099; earlier and later dates are limited to them. */
const zipDate = (nowMs: number): number =>
  Math.min(Math.max(nowMs, Date.UTC(1980, 0, 2)), Date.UTC(2099, 11, 30));

function passJson({ id, publicUrl, shopName, holder, balance, tier, templateId }: CardView): unknown {
  const secondary = [
    ...(holder === undefined ? [] : [{ key: "holder", label: "MEMBER", value: holder }]),
    ...(tier === null ? [] : [{ key: "tier", label: "LEVEL", value: tier }]),
  ];
  return {
    formatVersion: 1,
    passTypeIdentifier: "pass.mock.loyalty-cards",
    teamIdentifier: "UNSIGNED",
    serialNumber: id,
    organizationName: shopName,
    description: `${shopName} card, unsigned: made by a mock service`,
    logoText: shopName,
    foregroundColor: "rgb(255, 255, 255)",
    labelColor: "rgb(255, 255, 255)",
    backgroundColor: toRgb(selectColours(templateId)[0]),
    storeCard: {
      primaryFields: [{ key: "balance", label: "POINTS", value: formatPoints(balance) }],
      secondaryFields: secondary,
      backFields: [
        { key: "page", label: "Your card", value: publicUrl },
        { key: "unsigned", label: "Unsigned", value: notice.trim() },
      ],
    },
    barcodes: [{ format: "PKBarcodeFormatQR", message: publicUrl, messageEncoding: "iso-8859-1" }],
  };
}

/** Passes have no hexadecimal colours. */
const toRgb = (colour: string): string =>
  `rgb(${[1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)).join(", ")})`;

async function sha1(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-1", bytes)));
}

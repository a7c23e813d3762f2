/** The first wallet's pass: a well-formed archive that is not signed, because only the real service can sign. */

import { type Colour, cardIcon } from "./card-icon.ts";
import { spoken } from "./card-page.ts";
import { type CardView, colours } from "./card-view.ts";
import { type ZipEntry, zip } from "./zip.ts";

const icons = [
  ["icon.png", 29],
  ["icon@2x.png", 58],
  ["icon@3x.png", 87],
] as const;

const notice =
  "This pass was made by a mock service. It has no signature, so no phone will take it; everything else is as in a real one.\n";

export async function walletPass(view: CardView, at: Date): Promise<Uint8Array<ArrayBuffer>> {
  const ground = colours[view.colour] as Colour;
  const files: ZipEntry[] = [
    { name: "pass.json", bytes: utf8(JSON.stringify(passOf(view, ground), null, 2)) },
    { name: "UNSIGNED.txt", bytes: utf8(notice) },
    ...icons.map(([name, size]) => ({ name, bytes: cardIcon(size, ground) })),
  ];
  const sums: Record<string, string> = {};
  for (const { name, bytes } of files) sums[name] = await sha1(bytes);
  return zip([...files, { name: "manifest.json", bytes: utf8(JSON.stringify(sums, null, 2)) }], at);
}

function passOf({ id, publicUrl, shopName, holder, balance, tier }: CardView, ground: Colour): unknown {
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
    labelColor: "rgb(226, 228, 240)",
    backgroundColor: `rgb(${ground.join(", ")})`,
    storeCard: {
      primaryFields: [{ key: "balance", label: "POINTS", value: spoken(balance) }],
      secondaryFields: secondary,
      backFields: [
        { key: "page", label: "Your card", value: publicUrl },
        { key: "unsigned", label: "Unsigned", value: notice.trim() },
      ],
    },
    barcodes: [{ format: "PKBarcodeFormatQR", message: publicUrl, messageEncoding: "iso-8859-1" }],
  };
}

const utf8 = (text: string) => new TextEncoder().encode(text);

async function sha1(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-1", bytes));
  return Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

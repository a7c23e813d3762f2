/** The first wallet's pass: an archive that unpacks, with a correct manifest, which says that it is unsigned. */
import { createHash } from "node:crypto";
import { crc32, inflateRawSync, inflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { type MockServiceOptions, manualClock } from "../../src/index.ts";
import { noon, openShop } from "../shop.ts";

/** Reads an archive by its directory, as programs do, and checks each entry against its checksum. Not the library that wrote it. */
function unzip(archive: Buffer): Map<string, Buffer> {
  const end = archive.length - 22;
  expect(archive.readUInt32LE(end)).toBe(0x06054b50);
  const files = new Map<string, Buffer>();
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count -= 1) {
    expect(archive.readUInt32LE(at)).toBe(0x02014b50);
    const [method, length] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [size, nameLength] = [archive.readUInt32LE(at + 24), archive.readUInt16LE(at + 28)];
    const name = archive.toString("utf8", at + 46, at + 46 + nameLength);
    const local = archive.readUInt32LE(at + 42);
    expect([archive.readUInt32LE(local), archive.readUInt16LE(local + 26)]).toEqual([0x04034b50, nameLength]);
    const stored = archive.subarray(local + 30 + nameLength, local + 30 + nameLength + length);
    expect([0, 8]).toContain(method);
    const bytes = method === 8 ? inflateRawSync(stored) : stored;
    expect(bytes).toHaveLength(size);
    expect(crc32(bytes)).toBe(archive.readUInt32LE(at + 16));
    files.set(name, bytes);
    at += 46 + nameLength;
  }
  expect(at).toBe(end);
  return files;
}

async function passOfAnna(options: MockServiceOptions = {}) {
  const { service, issue } = openShop(options);
  const { body: card } = await issue();
  service.cards.purchase(card.id, { points: 1200 });
  const response = await service.fetch(new Request(`${card.publicUrl}/pass.pkpass`));
  return { card, response, files: unzip(Buffer.from(await response.arrayBuffer())) };
}

it("is an archive with a manifest of the hashes of its files", async () => {
  const { response, files } = await passOfAnna();
  expect(response.headers.get("content-type")).toBe("application/vnd.apple.pkpass");
  const manifest = JSON.parse(String(files.get("manifest.json")));
  const sums = [...files]
    .filter(([name]) => name !== "manifest.json")
    .map(([name, bytes]) => [name, createHash("sha1").update(bytes).digest("hex")]);
  expect(manifest).toEqual(Object.fromEntries(sums));
  expect(Object.keys(manifest)).toEqual(expect.arrayContaining(["pass.json", "icon.png", "icon@2x.png"]));
});

it("contains the balance, the level, the holder and the address of the card's page", async () => {
  const { card, files } = await passOfAnna();
  const pass = JSON.parse(String(files.get("pass.json")));
  expect(pass).toMatchObject({
    formatVersion: 1,
    serialNumber: card.id,
    organizationName: "Club",
    barcodes: [{ format: "PKBarcodeFormatQR", message: card.publicUrl }],
    storeCard: {
      primaryFields: [{ value: "1,200" }],
      secondaryFields: [{ value: "Anna" }, { value: "Gold" }],
    },
  });
});

it("says that it is unsigned", async () => {
  const { files } = await passOfAnna();
  expect(files.has("signature")).toBe(false);
  expect(JSON.parse(String(files.get("pass.json"))).description).toContain("unsigned");
  expect(String(files.get("UNSIGNED.txt"))).toContain("no signature");
});

it("has icons of three sizes that are PNG images", async () => {
  const { files } = await passOfAnna();
  for (const [name, size] of [
    ["icon.png", 29],
    ["icon@2x.png", 58],
    ["icon@3x.png", 87],
  ] as const) {
    const icon = files.get(name) ?? Buffer.alloc(0);
    expect(icon.subarray(0, 8).toString("hex")).toBe("89504e470d0a1a0a");
    expect([icon.readUInt32BE(16), icon.readUInt32BE(20)]).toEqual([size, size]);
    const chunks = new Map<string, Buffer>();
    for (let at = 8; at < icon.length; ) {
      const length = icon.readUInt32BE(at);
      const end = at + 8 + length;
      expect(crc32(icon.subarray(at + 4, end))).toBe(icon.readUInt32BE(end));
      chunks.set(icon.toString("latin1", at + 4, at + 8), icon.subarray(at + 8, end));
      at = end + 4;
    }
    expect([...chunks.keys()]).toEqual(["IHDR", "PLTE", "IDAT", "IEND"]);
    expect(inflateSync(chunks.get("IDAT") ?? "")).toHaveLength(size * (1 + Math.ceil(size / 2)));
  }
});

it("has the date of the service's clock", async () => {
  const { service, issue } = openShop();
  const { body: card } = await issue();
  const response = await service.fetch(new Request(`${card.publicUrl}/pass.pkpass`));
  const archive = Buffer.from(await response.arrayBuffer());
  const at = new Date(noon);
  expect(archive.readUInt16LE(12)).toBe(
    ((at.getFullYear() - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate(),
  );
});

it.each(["1970-01-01", "9999-01-01"])(
  "opens when the service's clock is at %s, a date that ZIP lacks",
  async (date) => {
    const { files } = await passOfAnna({ clock: manualClock(date) });
    expect(files.has("manifest.json")).toBe(true);
  },
);

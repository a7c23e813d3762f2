/** The UUID of an event, for a queue that takes no other ids. */
import { createHash } from "node:crypto";

/** Where the names of our identifiers live, as RFC 9562 wants it; any UUID would do, but it may never change. */
const namespace = Buffer.from("6f1c1c2e5d0b4a579c391d5f6a0e8b42", "hex");

/** The version 5 UUID of an event id: the same for every copy. Without a promise, which would cost as much as the insert. */
export function uuidOf({ id }: { id: string }): string {
  const digest = createHash("sha1").update(namespace).update(id, "utf8").digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

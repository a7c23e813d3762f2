/** Bodies are collected into bounded memory, however they are cut into chunks. */
import { expect, it } from "vitest";
import { collect, RawBodyError } from "../src/raw-body.ts";

async function* chunks(count: number, chunk: unknown): AsyncGenerator<unknown> {
  for (let index = 0; index < count; index++) yield chunk;
}
const faultOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error) => (error instanceof RawBodyError ? error.fault : error),
  );

it("keeps the bytes in order, whatever the sizes", async () => {
  async function* parts() {
    yield Buffer.from("ab");
    yield new Uint8Array();
    yield Buffer.from("c".repeat(10_000));
    yield new Uint16Array([0x6564]);
  }
  expect(Buffer.from(await collect(parts(), { maxBodyBytes: 20_000 }, "")).toString()).toBe(
    `ab${"c".repeat(10_000)}de`,
  );
});

it("costs no object per chunk: a mebibyte in single bytes is one buffer", async () => {
  const body = await collect(chunks(1024 * 1024, new Uint8Array(1)), { maxBodyBytes: 1024 * 1024 }, "");
  expect(body.byteLength).toBe(1024 * 1024);
  expect(body.buffer.byteLength).toBeLessThanOrEqual(1024 * 1024);
});

it("takes exactly the limit, and not a byte more", async () => {
  expect((await collect(chunks(10, new Uint8Array(10)), { maxBodyBytes: 100 }, "")).byteLength).toBe(100);
  expect(await faultOf(collect(chunks(101, new Uint8Array(1)), { maxBodyBytes: 100 }, ""))).toBe("too-large");
});

it("refuses text: what decoded it may have changed the bytes", async () => {
  expect(await faultOf(collect(chunks(1, "text"), { maxBodyBytes: 100 }, "fix"))).toBe("already-consumed");
});

it.each([0, 1, 50, 99, 1000])("takes it also when %i bytes were announced", async (expectedBytes) => {
  const limits = { maxBodyBytes: 100, expectedBytes };
  expect(
    (await collect(chunks(10, new Uint8Array(10).fill(7)), limits, "")).every((byte) => byte === 7),
  ).toBe(true);
  expect(await faultOf(collect(chunks(101, new Uint8Array(1)), limits, ""))).toBe("too-large");
});

it("makes no buffer larger than what was announced, nor than the limit", async () => {
  const bufferOf = async (expectedBytes: number) =>
    (await collect(chunks(1, new Uint8Array(10)), { maxBodyBytes: 100, expectedBytes }, "")).buffer
      .byteLength;
  expect([await bufferOf(10), await bufferOf(1_000_000)]).toEqual([10, 100]);
});

/** Bodies are collected into bounded memory, however they are cut into chunks. */
import { expect, it } from "vitest";
import { bytesOf, collect, fromBase64, RawBodyError } from "../src/raw-body.ts";

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

it("makes no buffer larger than twice what arrived, what was announced, and the limit", async () => {
  const bufferOf = async (count: number, expectedBytes: number) =>
    (await collect(chunks(count, new Uint8Array(10)), { maxBodyBytes: 100, expectedBytes }, "")).buffer
      .byteLength;
  expect([await bufferOf(1, 10), await bufferOf(1, 1_000_000)]).toEqual([10, 10]);
  expect([await bufferOf(3, 50), await bufferOf(3, 35), await bufferOf(9, 1_000_000)]).toEqual([40, 35, 100]);
});

it("what comes whole is not copied, announced or not", async () => {
  const whole = new Uint8Array([1, 2, 3]);
  expect(await collect(chunks(1, whole), { maxBodyBytes: 100, expectedBytes: 3 }, "")).toBe(whole);
  expect(await collect(chunks(1, whole), { maxBodyBytes: 100 }, "")).toBe(whole);
  expect(bytesOf(whole)).toBe(whole);
});

it("what comes in pieces, as announced, fills one buffer of that size", async () => {
  const body = await collect(chunks(2, new Uint8Array(5)), { maxBodyBytes: 100, expectedBytes: 10 }, "");
  expect([body.byteLength, body.buffer.byteLength]).toEqual([10, 10]);
});

it("tells what went wrong, why, and what to change", async () => {
  const reset = new Error("ECONNRESET");
  async function* broken(): AsyncGenerator<unknown> {
    yield new Uint8Array(1);
    throw reset;
  }
  const errorOf = (stream: AsyncIterable<unknown>) =>
    collect(stream, { maxBodyBytes: 100 }, "Move it up.").catch((error) => error);
  expect(await errorOf(broken())).toMatchObject({ fault: "unreadable", cause: reset });
  expect(await errorOf(chunks(1, "text"))).toMatchObject({
    message: "The request body is already-consumed.",
    fix: "Move it up.",
  });
});

it("base64 is decoded to the very bytes, within the limit, or refused", () => {
  const faultIn = (text: string, maxBytes: number) => {
    try {
      return [...fromBase64(text, maxBytes)];
    } catch (error) {
      return error;
    }
  };
  expect(faultIn("AP+A", 3)).toEqual([0, 255, 128]);
  expect(faultIn("AP+AAA==", 4)).toEqual([0, 255, 128, 0]);
  expect(faultIn("AP+AAA==", 3)).toMatchObject({ fault: "too-large" });
  expect(faultIn("AP*A", 3)).toMatchObject({ fault: "unreadable", cause: { name: "InvalidCharacterError" } });
});

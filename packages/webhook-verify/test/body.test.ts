/** Reading bodies into limited memory, in chunks of any size. */
import { expect, it } from "vitest";
import { collectBody, decodeBase64, RawBodyError, toBytes } from "../src/body.ts";

async function* chunks(count: number, chunk: unknown): AsyncGenerator<unknown> {
  for (let index = 0; index < count; index++) yield chunk;
}
const getReason = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error) => (error instanceof RawBodyError ? error.reason : error),
  );

it("joins chunks of different sizes in order", async () => {
  async function* parts() {
    yield* [Buffer.from("ab"), new Uint8Array(), Buffer.from("c".repeat(10_000)), new Uint16Array([0x6564])];
  }
  const body = await collectBody(parts(), { maxBodyBytes: 20_000 });
  expect(Buffer.from(body).toString()).toBe(`ab${"c".repeat(10_000)}de`);
});

it("rejects text, because decoding may have changed the bytes", async () => {
  expect(await getReason(collectBody(chunks(1, "text"), { maxBodyBytes: 100 }))).toBe("already-consumed");
});

it.each([undefined, 0, 1, 50, 99, 1000])(
  "accepts exactly maxBodyBytes, and not one byte more, with a content-length of %s",
  async (expectedBytes) => {
    const limits = { maxBodyBytes: 100, expectedBytes };
    const body = await collectBody(chunks(10, new Uint8Array(10).fill(7)), limits);
    expect([...body]).toEqual(Array(100).fill(7));
    expect(await getReason(collectBody(chunks(101, new Uint8Array(1)), limits))).toBe("too-large");
  },
);

// G15
it("allocates at most twice the received bytes, and at most the content-length and the limit", async () => {
  const getBufferSize = async (count: number, expectedBytes: number) =>
    (await collectBody(chunks(count, new Uint8Array(10)), { maxBodyBytes: 100, expectedBytes })).buffer
      .byteLength;
  expect([await getBufferSize(1, 10), await getBufferSize(1, 1_000_000)]).toEqual([10, 10]);
  expect([await getBufferSize(3, 50), await getBufferSize(3, 35), await getBufferSize(9, 1_000_000)]).toEqual(
    [40, 35, 100],
  );
});

it("does not copy a body of one chunk, with and without content-length", async () => {
  const whole = new Uint8Array([1, 2, 3]);
  expect(await collectBody(chunks(1, whole), { maxBodyBytes: 100, expectedBytes: 3 })).toBe(whole);
  expect(await collectBody(chunks(1, whole), { maxBodyBytes: 100 })).toBe(whole);
  expect(toBytes(whole)).toBe(whole);
});

it("throws an error with its reason, its cause and the fix", async () => {
  const reset = new Error("ECONNRESET");
  async function* broken(): AsyncGenerator<unknown> {
    yield new Uint8Array(1);
    throw reset;
  }
  const getError = (stream: AsyncIterable<unknown>) =>
    collectBody(stream, { maxBodyBytes: 100 }).catch((error) => error);
  expect(await getError(broken())).toMatchObject({ reason: "unreadable", cause: reset });
  expect(await getError(chunks(1, "text"))).toMatchObject({
    message: "The request body is already-consumed.",
  });
});

it("decodes base64 within the limit, and throws otherwise", () => {
  const decode = (text: string, maxBytes: number) => {
    try {
      return [...decodeBase64(text, maxBytes)];
    } catch (error) {
      return error;
    }
  };
  expect(decode("AP+A", 3)).toEqual([0, 255, 128]);
  expect(decode("AP+AAA==", 4)).toEqual([0, 255, 128, 0]);
  expect(decode("AP+AAA==", 3)).toMatchObject({ reason: "too-large" });
  expect(decode("AP*A", 3)).toMatchObject({
    reason: "unreadable",
    cause: { name: "InvalidCharacterError" },
  });
});

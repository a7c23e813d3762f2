/** The functions that several packages bundle. */
import { describe, expect, it } from "vitest";
import { BoundedBuffer, readBounded, toChunks } from "../bounded-body.ts";
import { escapeHtml, toHex, toPrintable } from "../format.ts";
import { isLoopback, isPrivate } from "../platform.ts";
import { formatErrorKind, formatErrorLocation, notify } from "../reporting.ts";

const bytes = (length: number, value = 1) => new Uint8Array(length).fill(value);

describe("BoundedBuffer", () => {
  it("returns a body of one chunk without a copy", () => {
    const chunk = bytes(10);
    const buffer = new BoundedBuffer(10);
    expect(buffer.add(chunk)).toBe(true);
    expect(buffer.bytes()).toBe(chunk);
  });
  it("joins chunks in their order, whatever was announced", () => {
    for (const announced of [undefined, 0, 3, 6, 1000]) {
      const buffer = new BoundedBuffer(6, announced);
      for (const value of [1, 2, 3]) expect(buffer.add(bytes(2, value))).toBe(true);
      expect([...buffer.bytes()]).toEqual([1, 1, 2, 2, 3, 3]);
    }
  });
  it("accepts a body of exactly the limit and refuses one byte more", () => {
    const buffer = new BoundedBuffer(4);
    expect([buffer.add(bytes(3)), buffer.add(bytes(1)), buffer.add(bytes(1))]).toEqual([true, true, false]);
    expect(buffer.bytes()).toHaveLength(4);
  });
  it("allocates at most twice what arrived", () => {
    const buffer = new BoundedBuffer(1_000_000, 1_000_000);
    buffer.add(bytes(100));
    buffer.add(bytes(1));
    expect(buffer.bytes().buffer.byteLength).toBeLessThanOrEqual(202);
  });
});

describe("readBounded", () => {
  it("cancels a web stream as soon as the limit is passed", async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(64)),
      cancel() {
        cancelled = true;
      },
    });
    expect(await readBounded(toChunks(endless), 1000)).toBeUndefined();
    expect(cancelled).toBe(true);
  });
  it("does not wait for a stream that never finishes its cancellation", async () => {
    const stuck = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytes(64)),
      cancel: () => new Promise(() => {}),
    });
    expect(await readBounded(toChunks(stuck), 10)).toBeUndefined();
  });
  it("reads an empty stream as an empty body", async () => {
    expect(await readBounded(toChunks(new Blob([]).stream()), 10)).toHaveLength(0);
  });
  it("rejects with the error of the source", async () => {
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("connection reset")),
    });
    await expect(readBounded(toChunks(broken), 10)).rejects.toThrow("connection reset");
  });
});

describe("notify", () => {
  it("passes on what the listener throws", () => {
    const errors: unknown[] = [];
    notify(
      () => {
        throw new RangeError("no");
      },
      1,
      (error) => errors.push(error),
    );
    expect(errors.map(formatErrorKind)).toEqual(["RangeError"]);
  });
  it("passes on what the listener's promise rejects with, also of another library's promise", async () => {
    class ForeignPromise {
      // biome-ignore lint/suspicious/noThenProperty: it stands for the promise of another library
      then(_resolve: unknown, reject: (error: unknown) => void): void {
        reject("late");
      }
    }
    for (const rejecting of [() => new ForeignPromise(), () => Promise.reject("late")]) {
      const rejected = new Promise((resolve) => notify(rejecting, 1, resolve));
      expect(await rejected).toBe("late");
    }
  });
  it("does nothing without a listener", () => {
    expect(notify(undefined, 1)).toBeUndefined();
  });
});

describe("formatErrorLocation", () => {
  it("contains the kind and the place, and nothing of the message", () => {
    const error = new TypeError("ada@example.com\n    at secret (/home/ada.ts:1:1)");
    const text = formatErrorLocation(error);
    expect(text).toMatch(/^TypeError at .*internal\.test\.ts/);
    expect(text).not.toContain("ada");
  });
  it("describes values that are no errors, and errors that cannot be read", () => {
    const unreadable = new Proxy(new Error("x"), {
      get() {
        throw new Error("trap");
      },
    });
    expect(["text", null, undefined].map(formatErrorLocation)).toEqual([
      "a thrown string",
      "a thrown null",
      "a thrown undefined",
    ]);
    expect(formatErrorLocation(unreadable)).toBe("an unreadable error");
    expect(formatErrorKind(unreadable)).toBe("an unreadable error");
  });
});

describe("isLoopback and isPrivate", () => {
  const hostname = (host: string) => new URL(`http://${host}/`).hostname;
  it.each([
    ["localhost", true, true],
    ["shop.localhost", true, true],
    ["LOCALHOST.", true, true],
    ["127.0.0.1", true, true],
    ["127.9.9.9", true, true],
    ["[::1]", true, true],
    ["[::ffff:127.0.0.1]", true, true],
    ["0.0.0.0", false, true],
    ["10.0.0.1", false, true],
    ["[::ffff:10.0.0.1]", false, true],
    ["169.254.169.254", false, true],
    ["[fe80::1]", false, true],
    ["printer", false, true],
    ["shop.local", false, true],
    ["8.8.8.8", false, false],
    ["[2001:db8::1]", false, false],
    ["127.0.0.1.example.com", false, false],
    ["localhost.example.com", false, false],
  ])("classifies %s", (host, loopback, isInternal) => {
    expect([isLoopback(hostname(host)), isPrivate(hostname(host))]).toEqual([loopback, isInternal]);
  });
});

describe("formats", () => {
  it("escapes markup and replaces characters that HTML cannot contain", () => {
    expect(escapeHtml(`<a href="x">&'\u0000\ud800é\n`)).toBe(
      "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\ufffd\ufffdé\n",
    );
  });
  it("formats bytes with two digits each", () => {
    expect(toHex(Uint8Array.of(0, 10, 255))).toBe("000aff");
  });
  it("keeps text on one line of at most 100 characters", () => {
    expect(toPrintable(`evt\n\u2028${"x".repeat(200)}`)).toBe(`evt\ufffd\ufffd${"x".repeat(95)}`);
  });
});

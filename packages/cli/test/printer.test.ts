/** What commands print on terminals and into files: colors, status lines, tables. */
import { describe, expect, it } from "vitest";
import { formatTable, style, Text, text } from "../src/printable.ts";
import type { PrintOptions, Terminal } from "../src/printer.ts";
import { openPrinter } from "./terminal.ts";

describe("colors", () => {
  const green = "\u001b[32mok\u001b[39m";

  it.each<[string, PrintOptions, Terminal["env"], boolean, boolean]>([
    ["a terminal", {}, {}, true, true],
    ["a file", {}, {}, false, false],
    ["a file with FORCE_COLOR", {}, { FORCE_COLOR: "1" }, false, true],
    ["--no-color", { color: false }, {}, true, false],
    ["NO_COLOR", {}, { NO_COLOR: "1" }, true, false],
    ["TERM=dumb", {}, { TERM: "dumb" }, true, false],
  ])("are printed or not for %s", (_name, options, env, isTTY, hasColor) => {
    const { print, output } = openPrinter(options, env, isTTY);
    print.data(undefined, () => style("green", "ok"));
    expect(output.stdout).toBe(`${hasColor ? green : "ok"}\n`);
  });
});

describe("data and messages", () => {
  it("prints data as one line of JSON with --json, and does not create the text", () => {
    const { print, output } = openPrinter({ json: true });
    print.data({ id: 1 }, () => {
      throw new Error("not needed");
    });
    expect(output).toEqual({ stdout: '{"id":1}\n', stderr: "" });
  });

  it("prints errors and data with --quiet, and no messages", () => {
    const { print, output } = openPrinter({ quiet: true });
    print.info("a message");
    print.status("a status");
    print.error("an error");
    print.data(1, () => "data");
    expect(output).toEqual({ stdout: "data\n", stderr: "an error\n" });
  });
});

describe("the width of a terminal", () => {
  it("breaks sentences between words, and keeps the lines of a text", () => {
    const { print, output } = openPrinter();
    print.error("a sentence that is longer than the line");
    print.info(text`  curl --request POST http://localhost`);
    print.error("Continue with the other rows?");
    expect(output.stderr).toBe(
      "a sentence that is\nlonger than the line\n  curl --request POST http://localhost\nContinue with the\nother rows?\n",
    );
  });

  it("does not break messages for a file or a pipe", () => {
    const { print, output } = openPrinter({}, {}, false);
    print.error("a sentence that is longer than the line");
    expect(output.stderr).toBe("a sentence that is longer than the line\n");
  });

  it("indents what follows a break as its line, or as asked", () => {
    const long = text`one\n  two three four`;
    expect(long.reflow(10).toString()).toBe("one\n  two\n  three\n  four");
    expect(text`two three four`.reflow(10, "    ").toString()).toBe("two three\n    four");
    expect(long.reflow(Number.POSITIVE_INFINITY)).toEqual(long);
  });
});

describe("the status", () => {
  it("has 80 columns on a terminal that reports a width of 0", () => {
    const { print, output } = openPrinter({}, {}, true, 0);
    print.status("word ".repeat(20));
    expect(output.stderr.split("\n")[0]).toHaveLength(79);
  });

  it("is removed before the next line, however many lines it has", () => {
    const { print, output } = openPrinter();
    print.status(text`one\ntwenty characters and more`);
    print.info("done");
    expect(output.stderr).toBe(
      "one\ntwenty characters\nand more\n\r\u001b[1A\u001b[2K\u001b[1A\u001b[2K\u001b[1A\u001b[2Kdone\n",
    );
  });

  it("is not printed into a file, and not on a dumb terminal, where it could not be replaced", () => {
    for (const { print, output } of [
      openPrinter({}, {}, false),
      openPrinter({}, { TERM: "dumb" }),
    ]) {
      print.status("one");
      expect([print.isLive, output.stderr]).toEqual([false, ""]);
    }
    expect(openPrinter({}, {}, false).print.columns).toBe(80);
  });
});

describe("a table", () => {
  it("aligns numbers to the right, ignores styles in the width, and is empty without rows", () => {
    const rows = [[style("green", "a"), 5, "x"] as const, ["bcd", 120, ""] as const];
    expect(formatTable(rows, ["Name", "Count", "Id"]).toString()).toBe(
      "Name  Count  Id\n\u001b[32ma\u001b[39m         5  x\nbcd     120",
    );
    expect(formatTable([]).toString()).toBe("");
  });
});

describe("a text", () => {
  it("keeps its own line breaks and styles, and escapes the control characters of its values", () => {
    const name = "\u001b[31mAnna\n\r\t\u0000\u007f\u009b\u2028\u202e\u2066\u200f";
    const escaped =
      "\\u001b[31mAnna\\u000a\\u000d\\u0009\\u0000\\u007f\\u009b\\u2028\\u202e\\u2066\\u200f";
    expect(text`Name:\n${name}`.toString()).toBe(`Name:\n${escaped}`);
    expect(style("bold", name).toString()).toBe(`\u001b[1m${escaped}\u001b[22m`);
    expect(Text.join([name, text`a`], "\n").toString()).toBe(`${escaped}\\u000aa`);
    expect(text`${text`${name}`}`.toString()).toBe(escaped);
  });

  it("keeps letters of all scripts and emoji as they are", () => {
    const name = "Zażółć Ånna 山田 क्‍ष عائشة می‌خواهم 👩‍👩‍👧 \u{1f1f5}\u{1f1f1} Müller\u00a0";
    expect(text`${name}`.toString()).toBe(name);
  });

  it.each([false, true])("is escaped by each method of the printer (json: %s)", (json) => {
    const { print, output } = openPrinter({ json }, {}, false);
    const name = "\u001b]52;c;Zm9v\u0007\n\u009b\u202e";
    print.data({ [name]: [name] }, () => name);
    print.info(name);
    print.error(name);
    const written = output.stdout + output.stderr;
    expect(written.match(/[^\P{Cc}\n]|\u202e/gu)).toBeNull();
    expect(output.stdout.split("\n")).toHaveLength(2);
    if (json) expect(JSON.parse(output.stdout)).toEqual({ [name]: [name] });
  });
});

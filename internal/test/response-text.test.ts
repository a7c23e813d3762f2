/** One line of a response, for a terminal: `toLine`. */
import { expect, it } from "vitest";
import { toLine } from "../response-text.ts";

it.each([
  ["text", "signature\n  mismatch ", "signature mismatch"],
  [
    "the message of JSON",
    '{"statusCode":401,"error":"Unauthorized","message":"x"}',
    "Unauthorized",
  ],
  ["a nested message", '{"error":{"code":7,"message":"no such user"}}', "no such user"],
  ["problem details", '{"title":"Conflict","detail":"in progress"}', "in progress"],
  ["JSON without an explanation", '{"ok":false}', '{"ok":false}'],
  [
    "an error page of Express",
    "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Cannot read &#39;id&#39; &amp; &quot;x&quot;</pre></body></html>",
    "Cannot read 'id' & \"x\"",
  ],
  [
    "styles and scripts",
    "<style>a{}</style><h1>502&nbsp;Bad Gateway</h1><script>1</script>",
    "502 Bad Gateway",
  ],
  ["a script that is cut", '<h1>502</h1><script>let a = "', "502"],
  ["HTML that is cut within a tag", '<p>Not found</p><a href="/', "Not found"],
  ["text that is no entity", "<b>&nothing; &#9999999; &#x41;</b>", "&nothing; &#9999999; A"],
  ["nothing", "", ""],
])("shows %s", (_name, body, line) => {
  expect(toLine(body)).toBe(line);
});

it("ends what is cut with an ellipsis", () => {
  expect(toLine("x".repeat(80))).toBe("x".repeat(80));
  expect(toLine("x".repeat(81))).toBe(`${"x".repeat(79)}…`);
  expect(toLine("abcdef", 3)).toBe("ab…");
});

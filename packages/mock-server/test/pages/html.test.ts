/** The html template: text is escaped, markup is not. */
import { expect, it } from "vitest";
import { html } from "../../src/pages/html.ts";

it("escapes text in content and in quoted attributes, and does not escape markup", () => {
  const nasty = `</p><script>"'&`;
  expect(String(html`<p title="${nasty}">${nasty}${html`<b>${1}</b>`}</p>`)).toBe(
    '<p title="&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;">&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;<b>1</b></p>',
  );
});

it("writes nothing for absent values, and joins lists", () => {
  expect(String(html`${undefined}${null}${[html`<i></i>`, html`<b></b>`]}${0}`)).toBe("<i></i><b></b>0");
});

it("replaces characters that HTML and XML do not allow", () => {
  expect(String(html`${"a\u0000b\u001Bc\uD800d\uFFFEe\u007F\ttab\u{1F600}"}`)).toBe(
    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD\ttab\u{1F600}",
  );
});

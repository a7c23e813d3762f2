/** Whatever is put into a page comes out as text. */
import { expect, it } from "vitest";
import { html } from "../../src/pages/html.ts";

it("escapes texts in content and in quoted attributes, and leaves what it wrote itself", () => {
  const nasty = `</p><script>"'&`;
  expect(String(html`<p title="${nasty}">${nasty}${html`<b>${1}</b>`}</p>`)).toBe(
    '<p title="&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;">&lt;/p&gt;&lt;script&gt;&quot;&#39;&amp;<b>1</b></p>',
  );
});

it("leaves gaps empty for what is absent, and puts lists one after the other", () => {
  expect(String(html`${undefined}${null}${[html`<i></i>`, html`<b></b>`]}${0}`)).toBe("<i></i><b></b>0");
});

it("replaces what neither HTML nor XML can hold", () => {
  expect(String(html`${"a\u0000b\u001Bc\uD800d\uFFFEe\u007F\ttab\u{1F600}"}`)).toBe(
    "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\uFFFD\ttab\u{1F600}",
  );
});

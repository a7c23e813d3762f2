/** The page "Check a signature" in a browser: every signature vector, hints, keyboard, phone screens, and no request. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import { axe } from "../../../../compat/browser.mjs";
import { startSite } from "./site.mjs";

const vectors = JSON.parse(
  readFileSync(new URL("../../../../openapi/vectors/signatures.json", import.meta.url), "utf8"),
);

const open = startSite();

async function openForm(options) {
  const { page, seen } = await open("check-signature", options);
  await page.locator(".check-signature .primary").wait();
  return { page, seen };
}

/** What a person would enter for a vector. Base64 where a text area would change the bytes. */
function toForm({ body, secrets, header, nowSeconds, toleranceSeconds = 300 }) {
  const isText = (base64) => {
    const bytes = Buffer.from(base64, "base64");
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return !text.includes("\r") && Buffer.from(text).equals(bytes);
  };
  const decode = (base64) => Buffer.from(base64, "base64").toString("utf8");
  const bodyEncoding = isText(body) ? "text" : "base64";
  const secretEncoding = secrets.every(isText) ? "text" : "base64";
  return {
    header: [header ?? ""].flat().join("\n"),
    body: bodyEncoding === "text" ? decode(body) : body,
    bodyEncoding,
    secrets: secretEncoding === "text" ? secrets.map(decode) : secrets,
    secretEncoding,
    fixedTime: String(nowSeconds),
    tolerance: String(toleranceSeconds),
  };
}

/** Runs in the page: fills the form in, submits it, and reads the report. */
async function checkInPage(form) {
  const byId = (id) => document.getElementById(id);
  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const clickButton = (text) =>
    [...document.querySelectorAll(".check-signature button")]
      .find((button) => button.textContent.trim() === text)
      .click();
  const enter = (id, value) => {
    const element = byId(id);
    element.value = value;
    element.dispatchEvent(new Event(element.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  };
  clickButton("Clear");
  await nextFrame();
  byId("time-fixed").click();
  for (let count = 1; count < form.secrets.length; count++) byId("add-secret").click();
  await nextFrame();
  enter("body-encoding", form.bodyEncoding);
  enter("secret-encoding", form.secretEncoding);
  enter("header", form.header);
  enter("body", form.body);
  enter("fixed-time", form.fixedTime);
  enter("tolerance", form.tolerance);
  for (const [index, secret] of form.secrets.entries()) enter(`secret-${index}`, secret);
  document.querySelector(".check-signature .primary").click();
  const headline = document.querySelector(".headline");
  while (headline.textContent.includes("No delivery was checked")) await nextFrame();
  return {
    headline: headline.textContent.trim(),
    steps: [...document.querySelectorAll(".check-report li")].map((step) => step.className),
    details: [...document.querySelectorAll(".check-report li")].map(
      (step) => step.querySelector("p")?.textContent ?? "",
    ),
  };
}

const order = ["missing-signature", "malformed-signature", "stale", "mismatch", "invalid-payload", "valid"];

it("agrees with every signature vector, and sends no request", async () => {
  const { page, seen } = await openForm();
  const before = seen.urls.length;
  for (const vector of vectors) {
    const { headline, steps, details } = await page.evaluate(checkInPage, toForm(vector));
    const { name, verdict } = vector;
    const expected = verdict === "valid" ? /^Valid: / : new RegExp(`^Rejected: ${verdict}(?![\\w-])`);
    assert.match(headline, expected, name);
    const failed = order.indexOf(verdict === "future" ? "stale" : verdict);
    assert.equal(steps.indexOf("failed"), failed === 5 ? -1 : failed, name);
    // Every check that fails says why.
    if (failed < 5) assert.ok(details[failed].length > 10, name);
  }
  assert.deepEqual(seen.urls.slice(before), []);
  assert.deepEqual(seen.foreign, []);
  assert.deepEqual(seen.complaints, []);
});

describe("the report", () => {
  const valid = toForm(vectors[0]);
  const wrong = (name, change, expected) =>
    it(`explains ${name}`, async () => {
      const { page } = await openForm();
      const { details } = await page.evaluate(checkInPage, { ...valid, ...change });
      assert.match(details.join("\n"), expected);
    });

  wrong(
    "a line break at the end of the body",
    { body: `${valid.body}\n` },
    /without the line break at the end/,
  );
  wrong(
    "a body that was formatted",
    { body: JSON.stringify(JSON.parse(valid.body), null, 2) },
    /the compact form of this JSON/,
  );
  const indented = toForm(vectors.find(({ name }) => name === "an indented body"));
  wrong(
    "a body that was made compact",
    { ...indented, body: JSON.stringify(JSON.parse(indented.body)) },
    /with an indentation of two spaces|with a line break/,
  );
  wrong(
    "another secret, with the expected signature",
    { secrets: ["whsec_other"] },
    /Expected with this secret and body: v1=[\da-f]{64}/,
  );
  wrong(
    "which of several secrets matches",
    { secrets: ["whsec_new", ...valid.secrets] },
    /Secret 2 of 2 matches/,
  );
  wrong(
    "the age of an old delivery, and makes the other checks",
    { fixedTime: "1767226200" },
    /10 min \(600 s\) before[\s\S]*belong to this signature/,
  );
  wrong(
    "a header whose lines a proxy joined",
    { header: `${valid.header}, ${valid.header}` },
    /more than one t/,
  );
  wrong(
    "a header with its name",
    { header: `Service-Signature: ${valid.header}` },
    /belong to this signature/,
  );
});

it("fills in examples, and works with the keyboard", async () => {
  const { page, seen } = await openForm();
  const readHeadline = () => page.$eval(".headline", (element) => element.textContent.trim());
  const waitFor = (text) =>
    page.waitForFunction(
      (wanted) => document.querySelector(".headline").textContent.includes(wanted),
      {},
      text,
    );
  await page.focus(".examples button");
  await page.keyboard.press("Enter");
  await waitFor("Valid: ");
  await page.focus("#body");
  await page.keyboard.down("Control");
  await page.keyboard.press("End");
  await page.keyboard.up("Control");
  await page.keyboard.type(" ");
  await waitFor("Rejected: mismatch");
  // An empty secret is named, and its field gets the focus.
  await page.$eval("#secret-0", (element) => element.select());
  await page.keyboard.press("Tab");
  await page.focus("#secret-0");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Enter");
  await waitFor("Enter the signing secret");
  assert.equal(await page.evaluate(() => document.activeElement.id), "secret-0");
  assert.equal(
    await page.$eval("#secret-0", (element) => element.getAttribute("aria-describedby")),
    "secret-0-error",
  );
  assert.match(await readHeadline(), /^Not checked/);
  assert.deepEqual(seen.complaints, []);
});

it("checks the delivery that the mock console passes in the fragment, and removes the secret from the address", async () => {
  const [{ header, body, secrets }] = vectors.map(toForm);
  const fields = { header, body, secret: secrets[0] };
  const { page, seen } = await open(`check-signature#${new URLSearchParams(fields)}`);
  await page.waitForFunction(() => document.querySelectorAll(".check-report li").length === 5);
  const shown = await page.evaluate(() => ({
    header: document.getElementById("header").value,
    body: document.getElementById("body").value,
    secret: document.getElementById("secret-0").value,
  }));
  assert.deepEqual(shown, fields);
  // The delivery is old. Its signature is right, which the report says all the same.
  assert.match(await page.$eval(".headline", (element) => element.textContent), /^\s*Rejected: stale/);
  assert.match(await page.$eval(".check-report", (element) => element.innerText), /belong to this signature/);
  assert.equal(new URL(page.url()).hash, "");
  const secret = encodeURIComponent(fields.secret);
  assert.deepEqual(
    seen.urls.filter((url) => url.replace(/#.*/, "").includes(secret)),
    [],
  );
  assert.deepEqual(seen.foreign, []);
});

it("reads the bytes of a file", async () => {
  const { page } = await openForm();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array([123, 125, 13, 10, 255])], "body"));
    const input = document.getElementById("file");
    input.files = data.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await page.waitForFunction(() => document.getElementById("body").value === "e30NCv8=");
  assert.match(await page.$eval("#body-size", (element) => element.textContent), /^5 bytes$/);
});

it.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 360],
  ["dark", 390],
])("has no serious finding of axe and no horizontal scrolling: %s, %i px", async (scheme, width) => {
  const { page } = await openForm({ scheme, width, height: 900 });
  for (const example of [1, 2]) {
    await page.locator(`.examples button:nth-of-type(${example})`).click();
    await page.waitForFunction(() => document.querySelectorAll(".check-report li").length === 5);
    await page.$eval(".check-signature details", (element) => {
      element.open = true;
    });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() =>
      globalThis.axe.run(".vp-doc", { resultTypes: ["violations"] }),
    );
    const serious = violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ")}`,
      );
    assert.deepEqual(serious, []);
    if (process.env.SCREENSHOTS)
      await page.screenshot({
        path: `${process.env.SCREENSHOTS}/check-${scheme}-${width}-${example}.png`,
        fullPage: true,
      });
  }
});

/** Opens a page of the shop as a browser does, scripts and all, and tells what its visitor gets. */
import { createRequire } from "node:module";
import { join } from "node:path";

/** What Next's scripts need and jsdom does not have. */
const missing = {
  ...{ fetch, Headers, Request, Response },
  ...{ ReadableStream, WritableStream, TransformStream },
  ...{ TextEncoder, TextDecoder },
};

/** Resolves once a script of the page failed and Next shows that. `folder` is where jsdom is installed. */
export async function visitUntilBroken(folder, url) {
  const { JSDOM, VirtualConsole } = createRequire(join(folder, "package.json"))("jsdom");
  const virtualConsole = new VirtualConsole();
  const errors = [];
  virtualConsole.on("error", (...values) => errors.push(values.join(" ")));
  virtualConsole.on("jsdomError", (error) => errors.push(String(error.detail ?? error)));
  const { window } = await JSDOM.fromURL(url, {
    runScripts: "dangerously",
    resources: "usable",
    pretendToBeVisual: true,
    virtualConsole,
    beforeParse: (page) => Object.assign(page, missing),
  });
  const { document } = window;
  await new Promise((resolve) => {
    const look = () => {
      if (document.documentElement.id === "__next_error__" && errors.length > 0) resolve();
    };
    // The document's element is replaced as a whole, so what is watched is the document.
    new window.MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
    look();
  });
  const text = [...document.body.querySelectorAll("h1, h2, p, output")].map((part) => part.textContent);
  window.close();
  return { text: text.join(" "), errors };
}

// The parts of Swagger UI that this reference replaces: headings instead of accordions, the call
// in TypeScript and as curl, and an example of each response.
import { toCall, toCurl, toText } from "./typescript.js";

/** Whether the contents are beside the page. */
const isMedium = matchMedia("(min-width: 900px)").matches;
/** Whether the examples are beside the forms, too. Below them, the responses are folded. */
const isWide = matchMedia("(min-width: 1240px)").matches;

const json = ["content", "application/json"];

export const getIn = (object, path) => path.reduce((value, key) => value[key], object);

const code =
  (_original, { React: { createElement: h } }) =>
  ({ children }) =>
    h("code-block", { text: String(children) });

/** Panels by name, of which one is shown. */
const createTabs =
  ({ createElement: h, useState }) =>
  ({ panels }) => {
    const names = Object.keys(panels);
    const [shown, show] = useState(names[0]);
    const toTab = (name) =>
      h(
        "button",
        {
          key: name,
          type: "button",
          role: "tab",
          "aria-selected": name === shown,
          onClick: () => show(name),
        },
        name,
      );
    return h(
      "div",
      { className: "tabs" },
      h("div", { role: "tablist" }, names.map(toTab)),
      h("div", { role: "tabpanel", "aria-label": shown }, panels[shown]),
    );
  };

/** The editor of the request body, whose attributes are below the form. */
const modelExample =
  () =>
  ({ example }) =>
    example;

/** A disabled button alone does not say what it waits for. */
const execute =
  (Original, { React: { createElement: h, Fragment } }) =>
  (props) =>
    h(
      Fragment,
      null,
      h(Original, props),
      h("span", { role: "status" }, props.disabled && "Waiting for the response…"),
    );

const layout =
  (_original, { React: { createElement: h }, getComponent }) =>
  () =>
    h(getComponent("operations", true));

const section =
  (_original, { React: { createElement: h }, getComponent }) =>
  ({ tag, tagObj, children }) =>
    h(
      "section",
      { "aria-labelledby": tag },
      h("h2", { id: tag }, tag),
      h(getComponent("Markdown"), { source: tagObj.getIn(["tagDetails", "description"]) }),
      children,
    );

const heading =
  (_original, { React: { createElement: h } }) =>
  ({ operationProps }) => {
    const { operationId, summary, method, path } = operationProps.toObject();
    return h(
      "header",
      { id: operationId },
      h("h3", null, summary),
      h("code", null, operationId),
      h("p", null, h("b", { className: method }, method), " ", h("code", null, path)),
    );
  };

/** The browser looked for the target of the address before the operations were in the page. */
function scrollToTarget() {
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** What calls an operation with the values of its form, for `toCall` and `toCurl`. */
const readCall = (operation, { path, method, oas3Selectors }) => ({
  operationId: operation.get("operationId"),
  method,
  url: location.origin + path,
  apiKey: document.getElementById("reference").dataset.apiKey,
  parameters: operation.get("parameters").toJS(),
  body: oas3Selectors.requestBodyValue(path, method),
});

/** The call and an example of its response, which are beside the form; below it the responses. */
const responses = (_original, { React, getComponent }) => {
  const { createElement: h, useLayoutEffect } = React;
  const tabs = createTabs(React);
  return (props) => {
    useLayoutEffect(scrollToTarget, []); // those of all operations appear at once
    const { responses, tryItOutResponse, request, path, method } = props;
    const operation = props.specSelectors.operationWithMeta(path, method);
    const [success, response] = responses.findEntry((_response, status) => status < "3");
    const [[result, example]] = response.getIn([...json, "examples"]).entrySeq();
    const call = { ...readCall(operation, props), result };
    const toBlock = (text) => h("code-block", { text });
    const body = operation.getIn(["requestBody", ...json, "schema"]);
    const label = "Attributes of the request body";
    const documented = responses
      .entrySeq()
      .map(([status, response]) =>
        h(getComponent("response"), { ...props, key: status, status, response }),
      );
    const live = { ...props, response: tryItOutResponse, request };
    return h(
      "div",
      { className: "responses" },
      h(
        "div",
        { "aria-live": "polite" },
        request && tryItOutResponse && h(getComponent("liveResponse"), live),
      ),
      // Folded on a small screen, which they would fill.
      body &&
        h(
          "details",
          { className: "documented", open: isMedium },
          h("summary", null, h("h4", null, "Attributes")),
          h("member-table", { label, schema: JSON.stringify(body) }),
        ),
      h(
        "div",
        { className: "examples" },
        h(tabs, { panels: { TypeScript: toBlock(toCall(call)), curl: toBlock(toCurl(call)) } }),
        isWide && h("h4", null, `Example response ${success}`),
        isWide && toBlock(toText(example.get("value"))),
      ),
      h(
        "details",
        { className: "documented", open: isWide },
        h(
          "summary",
          null,
          h("h4", null, "Responses"),
          h("small", null, responses.keySeq().join(", ")),
        ),
        documented,
      ),
    );
  };
};

/** Scrolls no further than needed to an element of which less than half is on the screen. */
function showHalf(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  const visible = Math.min(bottom, innerHeight) - Math.max(top, 0);
  if (visible < height / 2) element.scrollIntoView({ block: "nearest" });
}

const noResponse =
  "The connection failed: the mock service has stopped, or an injected fault cut it.";

/** What the service responded, and where its page and the console show it. */
const liveResponse =
  (_original, { React: { createElement: h, useLayoutEffect, useRef } }) =>
  ({ response }) => {
    const live = useRef(null);
    useLayoutEffect(() => showHalf(live.current), [response]);
    const { status, headers, obj, text, durationMs, entryId } = response.toJS();
    const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const isJson = typeof obj === "object";
    const toLink = (href, words) => h("a", { href, target: "_blank" }, words);
    return h(
      "div",
      { className: "live", ref: live },
      h(
        "h4",
        { className: status < 400 ? "good" : "bad" },
        status ?? "No response",
        durationMs !== undefined && h("small", null, ` in ${durationMs} ms`),
      ),
      h(
        "p",
        null,
        status === 201 && toLink(obj.publicUrl, "Open the card"),
        entryId && toLink(`../console#/?open=${entryId}`, "Open in the console"),
      ),
      h("code-block", { text: isJson ? toText(obj) : text || noResponse }),
      status === 201 &&
        h(
          "p",
          null,
          "The other forms now have its id. The same idempotency key returns this card again.",
        ),
      lines.length > 0 &&
        h(
          "details",
          null,
          h("summary", null, "Response headers"),
          h("code-block", { text: lines.join("\n") }),
        ),
    );
  };

/**
 * A success has the members of its body, which are folded where those of a request body are shown;
 * an error is problem details.
 */
const documentedResponse =
  (_original, { React: { createElement: h }, getComponent }) =>
  ({ status, response, specPath, method }) => {
    const [[mediaType, media]] = response.get("content").entrySeq();
    const { schema, examples } = media.toJS();
    const values = Object.values(examples).map(({ value }) => value);
    const isSuccess = status < "3";
    const { description, headers = {} } = response.toJS();
    const lines = Object.entries(headers).map(
      ([name, { example }]) => `${name.toLowerCase()}: ${example}`,
    );
    const toError = (value) =>
      [`HTTP ${value.status}`, `content-type: ${mediaType}`, ...lines, "", toText(value)].join(
        "\n",
      );
    const members = { label: `Attributes of ${status}`, schema: JSON.stringify(schema) };
    return h(
      "details",
      { open: isSuccess && method === "get", name: `responses of ${specPath.join(" ")}` }, // one at a time
      h(
        "summary",
        null,
        h("strong", { className: isSuccess ? "good" : "bad" }, status),
        h(getComponent("Markdown"), { source: description }),
      ),
      isSuccess && h("member-table", members),
      isSuccess && !isWide && h("code-block", { text: toText(values[0]) }),
      !isSuccess &&
        values.map((value) => h("code-block", { key: value.status, text: toError(value) })),
    );
  };

const textArea =
  (_original, { React: { createElement: h } }) =>
  (props) =>
    h("textarea", { ...props, "aria-label": "Request body", spellCheck: false });

/** Execute validates the form first: the earlier response does not belong to what is in it. */
const validateParams = (original, system) => (pathMethod) => {
  system.specActions.clearResponse(...pathMethod);
  return original(pathMethod);
};

/** A plugin of Swagger UI. */
export const parts = () => ({
  // The document has no references: Swagger UI's own way takes seconds, in which forms do nothing.
  fn: {
    // The example, which Swagger UI asks for before it has chosen one.
    getSampleSchema: (_schema, _mediaType, _options, example = {}) => toText(example),
    resolveSubtree: (document, path) => ({ spec: getIn(document, path), errors: [] }),
  },
  statePlugins: { spec: { wrapActions: { validateParams } } },
  wrapComponents: {
    BaseLayout: layout,
    HighlightCode: code,
    OperationTag: section,
    OperationSummary: heading,
    TextArea: textArea,
    execute,
    liveResponse,
    modelExample,
    response: documentedResponse,
    responses,
  },
});

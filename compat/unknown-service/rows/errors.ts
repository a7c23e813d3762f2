/** Errors: problem details, statuses, pages of gateways, rate limits, and announced ends. */
import { asUsual, bare, html, issuing, problem, redirect } from "../expectations.ts";
import type { ApiRequest, CallName, ServiceRows } from "../row.ts";

const operations = ["issueCard"] as const;

const isUnknown = ({ path }: ApiRequest) => path.includes("card_of_nobody");
/** The calls to which the mock service responds 404. */
const notFound: readonly CallName[] = ["unknownCard", "archivedTemplate"];
const everyCall: readonly CallName[] = [
  ...issuing,
  "unknownCard",
  "getCard",
  "getConsent",
  "getGivenConsent",
  "giveConsent",
  "withdrawConsent",
  "listOperations",
  "listTwoOperations",
];

export const errorRows: ServiceRows = {
  "problem-type": [
    {
      change: { ofStatus: "errors", member: "type", values: ["https://errors.cards.test/no", 7] },
      expect: asUsual,
    },
    {
      change: {
        ofStatus: "errors",
        member: "detail",
        values: ["x".repeat(2 ** 20), { text: "no" }],
      },
      expect: asUsual,
    },
    {
      change: {
        ofStatus: "errors",
        member: "errors",
        values: ["all", { "customer.phone": ["is not valid"] }],
      },
      expect: asUsual,
    },
    {
      change: {
        ofStatus: "errors",
        responses: [
          { body: undefined },
          { body: [{ message: "no" }] },
          { text: '{"type":"about:' },
          { headers: html, text: "<h1>No</h1>" },
        ],
      },
      expect: asUsual,
    },
  ],

  unauthorized: [
    {
      change: { ofStatus: 401, responses: [problem(403)] },
      expect: { calls: ["wrongKey"], end: "forbidden" },
    },
    {
      change: { ofStatus: 401, responses: [problem(404)] },
      expect: { calls: ["wrongKey"], end: "not-found" },
    },
    {
      change: { ofStatus: 401, responses: [problem(400)] },
      expect: { calls: ["wrongKey"], end: "rejected" },
    },
    // A page asks for a password.
    {
      change: {
        ofStatus: 401,
        responses: [redirect, { status: 200, headers: html, text: "<form>" }],
      },
      expect: { calls: ["wrongKey"], end: "invalid-response" },
    },
  ],

  "card-not-found": [
    {
      change: {
        operations: ["getCard"],
        refuses: isUnknown,
        responses: [problem(400), problem(410)],
      },
      expect: { calls: ["unknownCard"], end: "rejected" },
    },
    {
      change: { operations: ["getCard"], refuses: isUnknown, responses: [problem(403)] },
      expect: { calls: ["unknownCard"], end: "forbidden" },
    },
    {
      change: { operations: ["getCard"], refuses: isUnknown, responses: [problem(422)] },
      expect: { calls: ["unknownCard"], end: "validation" },
    },
    {
      change: {
        ofStatus: 404,
        responses: [
          { status: 200, body: null },
          { status: 200, body: {} },
          { status: 200, body: [] },
          { status: 200, body: { card: null } },
        ],
      },
      expect: { calls: notFound, end: "invalid-response" },
    },
  ],

  "unknown-path": [
    {
      change: { ofStatus: 404, responses: [{ headers: html, text: "<h1>404</h1>" }] },
      expect: asUsual,
    },
    {
      change: { ofStatus: 404, responses: [bare(410), bare(405, { allow: "GET" })] },
      expect: { calls: notFound, end: "rejected" },
    },
  ],

  "bad-request": [
    {
      change: { ofStatus: 422, responses: [problem(400), bare(406)] },
      expect: { calls: ["signUpInvalid"], end: "rejected" },
    },
  ],

  "unsupported-media-type": [
    {
      change: {
        operations,
        refuses: ({ headers }) => !headers["content-type"]?.includes("charset"),
        responses: [problem(415)],
      },
      expect: { calls: issuing, end: "rejected" },
    },
    {
      change: {
        addedHeaders: [
          { "content-type": "text/plain" },
          { "content-type": "application/vnd.cards+json" },
          html,
        ],
      },
      expect: asUsual,
    },
  ],

  "body-too-large": [
    {
      change: {
        operations,
        refuses: ({ body }) => JSON.stringify(body).length > 100,
        responses: [problem(413)],
      },
      expect: {
        calls: ["signUp", "signUpAgain", "signUpAtOnce", "signUpAtOnceToo", "signUpByEmail"],
        end: "rejected",
      },
    },
    // The headers are too long.
    {
      change: {
        operations,
        refuses: ({ headers }) => (headers["idempotency-key"] ?? "").length > 40,
        responses: [problem(431)],
      },
      expect: { calls: issuing, end: "rejected" },
    },
  ],

  "rate-limit": [
    {
      change: {
        firstResponses: [
          problem(429),
          problem(429, { "retry-after": "0" }),
          problem(429, { "retry-after": "Thu, 01 Jan 2026 00:00:00 GMT" }),
          problem(429, { "retry-after": "soon" }),
          problem(429, { "retry-after": "-1" }),
          problem(503),
        ],
      },
      expect: asUsual,
    },
    {
      change: { refuses: () => true, responses: [problem(429, { "retry-after": "0" })] },
      expect: { calls: everyCall, end: "rate-limited" },
    },
    // Headers say that the limit is reached, and the response is a success.
    {
      change: {
        addedHeaders: [
          { ratelimit: '"default";r=0;t=1', "x-ratelimit-remaining": "0", "retry-after": "3600" },
        ],
      },
      expect: asUsual,
    },
  ],

  deprecation: [
    {
      change: {
        addedHeaders: [
          { deprecation: "@1767225600", sunset: "Thu, 01 Jan 2026 00:00:00 GMT", link: "</v2>" },
          { deprecation: "yes, soon", sunset: "tomorrow", warning: '299 - "old"' },
        ],
      },
      expect: asUsual,
    },
    // This version of the API is gone.
    {
      change: { refuses: () => true, responses: [problem(410)] },
      expect: { calls: everyCall, end: "rejected" },
    },
  ],
};

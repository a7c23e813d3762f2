/** Idempotency keys: their form and scope, replays, lost responses, and requests at once. */
import { asUsual, bare, html, issuing, problem, redirect } from "../expectations.ts";
import type { CallName, ServiceRows } from "../row.ts";

const operations = ["issueCard"] as const;
const repeated: readonly CallName[] = ["signUpAgain", "signUpLater"];

export const keyRows: ServiceRows = {
  "replay-header": [
    {
      change: {
        operations,
        sameBy: "key",
        firstStatus: 201,
        responses: [
          { headers: { "idempotent-replayed": "1" } },
          { headers: { "idempotency-replayed": "1" } },
        ],
      },
      expect: asUsual,
    },
  ],

  "idempotency-replay": [
    // The second one has the balance of the first response.
    {
      change: { operations, sameBy: "key", firstStatus: 201, responses: [{ status: 200 }, {}] },
      expect: asUsual,
    },
    {
      change: { operations, sameBy: "key", firstStatus: 201, responses: [redirect, bare(200)] },
      expect: { calls: repeated, end: "invalid-response" },
    },
    {
      change: { operations, sameBy: "key", firstStatus: 201, responses: [problem(409)] },
      expect: { calls: repeated, end: "conflict" },
    },
    {
      change: { operations, sameBy: "key", firstStatus: 201, responses: [problem(422)] },
      expect: { calls: repeated, end: "validation" },
    },
  ],

  "idempotency-scope": [
    // A key is valid for one template, or for one API key.
    {
      change: {
        operations,
        keys: [
          (key, { path }) => `${path.length}-${key}`,
          (key, { headers }) => `${headers["authorization"]?.slice(-6)}-${key}`,
        ],
      },
      expect: asUsual,
    },
  ],

  "idempotency-namespace": [
    // Websites share their keys, or each program has keys of its own.
    {
      change: {
        operations,
        keys: [
          (key) => `shared-${key}`,
          (key, { headers }) => `${headers["user-agent"]?.length}-${key}`,
        ],
      },
      expect: asUsual,
    },
  ],

  "idempotency-key-form": [
    {
      change: {
        operations,
        refuses: ({ headers }) => (headers["idempotency-key"] ?? "").length > 32,
        responses: [problem(400)],
      },
      expect: { calls: issuing, end: "rejected" },
    },
    // Only a UUID is a key.
    {
      change: {
        operations,
        refuses: ({ headers }) => !/^[\da-f-]{36}$/.test(headers["idempotency-key"] ?? ""),
        responses: [problem(422)],
      },
      expect: { calls: issuing, end: "validation" },
    },
    {
      change: { operations, keys: [(key) => key.slice(0, 40), (key) => key.toLowerCase()] },
      expect: asUsual,
    },
  ],

  "idempotency-successes": [
    // A refusal is stored under the key, whatever the next form is.
    {
      change: { operations, sameBy: "key", firstStatus: 422, responses: [{}] },
      expect: { calls: ["signUpCorrected"], end: "validation" },
    },
    { change: { operations, sameBy: "key", firstStatus: 404, responses: [{}] }, expect: asUsual },
    // Another form under the key of a refusal.
    {
      change: { operations, sameBy: "key", firstStatus: 422, responses: [problem(409)] },
      expect: { calls: ["signUpCorrected"], end: "conflict" },
    },
    {
      change: {
        operations,
        lost: [problem(500), { status: 201, headers: {}, text: '{"id":"card_1","publicUrl":' }],
      },
      expect: asUsual,
    },
    {
      change: { firstResponses: [{ status: 502, headers: html, text: "<h1>Bad gateway</h1>" }] },
      expect: asUsual,
    },
  ],

  "concurrent-key": [
    // The first request runs for a while.
    { change: { operations, atOnce: [problem(409), problem(423)], times: 3 }, expect: asUsual },
    {
      change: { operations, atOnce: [problem(409), problem(423)], times: Number.POSITIVE_INFINITY },
      expect: { calls: ["signUpAtOnceToo"], end: "conflict" },
    },
    { change: { operations, atOnce: [problem(425), problem(503)], times: 1 }, expect: asUsual },
    // A gateway gives up, and the service still works.
    { change: { operations, lost: [problem(504)], meanwhile: problem(409) }, expect: asUsual },
    { change: { operations, lost: [problem(504)], meanwhile: problem(423) }, expect: asUsual },
  ],
};

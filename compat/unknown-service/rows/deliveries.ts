/** The headers of a delivery, and its signature. */
import { handled } from "../expectations.ts";
import type { DeliveryRows } from "../row.ts";

const zeros = "0".repeat(64);
const toBase64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

export const deliveryRows: DeliveryRows = {
  "delivery-identifier": [
    {
      change: {
        header: "service-delivery",
        values: [
          (usual, { isRepeat }) => `${usual}-${isRepeat}`,
          () => "dlv",
          () => zeros.repeat(32),
        ],
      },
      expect: handled,
    },
    { change: { header: "service-event", values: [() => "card.deleted"] }, expect: handled },
    {
      change: {
        header: "content-type",
        values: [(usual) => `${usual}; charset=utf-8`, () => "application/cloudevents+json"],
      },
      expect: handled,
    },
    { change: { header: "content-type", values: [() => "text/plain"] }, expect: handled },
    { change: { withoutHeader: "service-delivery" }, expect: handled },
    { change: { withoutHeader: "service-event" }, expect: handled },
    { change: { withoutHeader: "content-type" }, expect: handled },
    // The signature is in another header.
    { change: { withoutHeader: "service-signature" }, expect: { status: 401 } },
  ],

  "signature-time": [
    // Each retry has the time of the first attempt; the five before the last took ten seconds each.
    {
      change: {
        header: "service-signature",
        values: [(_usual, { sign, nowSeconds }) => sign(nowSeconds - 30_960 - 50)],
      },
      toleranceSeconds: 31_100,
      expect: handled,
    },
    // The clock is ahead, or has no seconds.
    {
      change: {
        header: "service-signature",
        values: [
          (_usual, { sign, nowSeconds }) => sign(nowSeconds + 60),
          (_usual, { sign, nowSeconds }) => sign(nowSeconds - (nowSeconds % 60)),
        ],
      },
      expect: handled,
    },
    {
      change: {
        header: "service-signature",
        values: [
          (usual) => usual.split(",").reverse().join(","),
          (usual) => usual.replace(",", ", "),
        ],
      },
      expect: handled,
    },
    // The digits are upper-case.
    {
      change: {
        header: "service-signature",
        values: [(usual) => usual.toUpperCase().replace("T=", "t=").replace("V1=", "v1=")],
      },
      expect: handled,
    },
    // There are signatures of other versions, or several.
    {
      change: {
        header: "service-signature",
        values: [
          (usual) => `v0=abc,${usual},v2=${zeros}`,
          (usual) => usual.replace(",v1", `,v1=${zeros},v1`),
        ],
      },
      expect: handled,
    },
    {
      change: {
        header: "service-signature",
        values: [
          (_usual, { sign, nowSeconds }) => sign(nowSeconds - 600),
          (_usual, { sign, nowSeconds }) => sign(nowSeconds + 600),
        ],
      },
      expect: { status: 401 },
    },
    // The time is in milliseconds or has a fraction, or the version is another one.
    {
      change: {
        header: "service-signature",
        values: [
          (_usual, { sign, nowSeconds }) => sign(nowSeconds * 1000),
          (_usual, { sign, nowSeconds }) => sign(nowSeconds + 0.5),
          (usual) => usual.replace("v1=", "v2="),
        ],
      },
      expect: { status: 401 },
    },
    {
      change: {
        header: "service-signature",
        values: [(usual) => usual.replace(/t=\d+/, "t=2026-01-01T00:00:00Z")],
      },
      expect: { status: 401 },
    },
    {
      change: {
        header: "service-signature",
        values: [(usual) => usual.replace(/v1=(.*)/, (_, hex) => `v1=${toBase64(hex)}`)],
      },
      expect: { status: 401 },
    },
  ],

  "retry-secret": [
    // A retry is signed with the other secret.
    {
      change: {
        header: "service-signature",
        values: [
          (usual, { isRepeat, sign, nowSeconds, otherSecret }) =>
            isRepeat ? sign(nowSeconds, otherSecret) : usual,
        ],
      },
      expect: handled,
    },
    // Both secrets sign, as long as both are valid.
    {
      change: {
        header: "service-signature",
        values: [
          (usual, { sign, nowSeconds, otherSecret }) =>
            `${sign(nowSeconds, otherSecret)},${usual.split(",")[1]}`,
        ],
      },
      expect: handled,
    },
    {
      change: {
        header: "service-signature",
        values: [(_usual, { sign, nowSeconds }) => sign(nowSeconds, "whsec_other")],
      },
      expect: { status: 401 },
    },
  ],

  "private-endpoints": [
    { change: { header: "x-forwarded-for", values: [() => "10.0.0.1"] }, expect: handled },
    { change: { header: "via", values: [() => "1.1 gateway"] }, expect: handled },
    { change: { header: "host", values: [() => "10.0.0.7"] }, expect: handled },
    // A gateway compresses the body.
    { change: { header: "content-encoding", values: [() => "gzip"] }, expect: { status: 415 } },
  ],
};

/** What the service makes of the form of a sign-up: the template, the customer and consents. */
import { asUsual, cards, issuing, problem } from "../expectations.ts";
import type { ApiRequest, ServiceRows } from "../row.ts";

const operations = ["issueCard"] as const;
/** The phone of `signUpInvalid`. */
const invalidPhone = "12";
const isArchived = ({ path }: ApiRequest) => path.includes("archived");
const hasInvalidPhone = ({ body }: ApiRequest) => body["customer"].phone === invalidPhone;

export const signUpRows: ServiceRows = {
  "template-definition": [
    // A field is required that the shop does not know.
    {
      change: { operations, refuses: () => true, responses: [problem(422)] },
      expect: { calls: issuing, end: "validation" },
    },
    {
      change: { operations, request: ({ body }) => ({ body: { ...body, fieldValues: {} } }) },
      expect: asUsual,
    },
  ],

  "customer-members": [
    // A birthday is required.
    {
      change: { operations, refuses: (one) => !hasInvalidPhone(one), responses: [problem(422)] },
      expect: { calls: issuing, end: "validation" },
    },
    { change: { operations, customer: ({ name: _, ...customer }) => customer }, expect: asUsual },
    {
      change: {
        operations: cards,
        member: "customer",
        values: [{ id: "cus_1", phone: null, tags: [] }],
      },
      expect: asUsual,
    },
  ],

  "blank-members": [
    // The client sends no null and no empty text.
    {
      change: {
        operations,
        refuses: ({ body }) => Object.values(body["customer"]).includes(null),
        responses: [problem(422)],
      },
      expect: asUsual,
    },
    {
      change: {
        operations,
        refuses: ({ body }) => Object.values(body["customer"]).includes(""),
        responses: [problem(422)],
      },
      expect: asUsual,
    },
    {
      change: {
        operations,
        refuses: ({ body }) => JSON.stringify(body).includes('" "'),
        responses: [problem(400)],
      },
      expect: asUsual,
    },
  ],

  "phone-format": [
    // Only numbers in E.164 are accepted.
    {
      change: {
        operations,
        refuses: ({ body }) => /^\d+ /.test(body["customer"].phone),
        responses: [problem(422)],
      },
      expect: { calls: ["signUpCorrected", "signUpWithKeySuffix"], end: "validation" },
    },
    // Every number is accepted.
    {
      change: {
        operations,
        customer: (customer) =>
          customer["phone"] === invalidPhone ? { ...customer, phone: "+48600000012" } : customer,
      },
      expect: { calls: ["signUpInvalid"], end: "value" },
    },
  ],

  "customer-match": [
    {
      change: { operations: cards, member: "customerId", values: ["cus_of_card"] },
      expect: asUsual,
    },
    // Addresses are compared letter by letter.
    {
      change: {
        operations,
        customer: (customer) =>
          "email" in customer ? { ...customer, email: `x-${customer["email"]}` } : customer,
      },
      expect: asUsual,
    },
    {
      change: { operations, anotherKey: problem(409) },
      expect: { calls: ["signUpUnderAnotherKey"], end: "conflict" },
    },
  ],

  "another-key": [
    {
      change: { operations, anotherKey: problem(422) },
      expect: { calls: ["signUpUnderAnotherKey"], end: "validation" },
    },
    // The customer gets the card that they have.
    {
      change: { operations, sameBy: "phone", firstStatus: 201, responses: [{ status: 200 }] },
      expect: asUsual,
    },
  ],

  "customer-blanks": [
    {
      change: {
        operations: ["getConsent"],
        member: "customer",
        values: [{ id: "cus_1", name: "Overwritten", phone: "+48600000000" }],
      },
      expect: asUsual,
    },
    // A customer with a phone gets no address.
    {
      change: {
        operations,
        customer: (customer) =>
          "phone" in customer ? { ...customer, email: undefined } : customer,
      },
      expect: asUsual,
    },
  ],

  "marketing-at-issue": [
    // Marketing consent has to be confirmed first.
    {
      change: {
        operations,
        customer: (customer) => ({ ...customer, consents: { privacy: { version: "2026-01" } } }),
      },
      expect: asUsual,
    },
  ],

  "archived-templates": [
    {
      change: { operations, refuses: isArchived, responses: [problem(403)] },
      expect: { calls: ["archivedTemplate"], end: "forbidden" },
    },
    {
      change: { operations, refuses: isArchived, responses: [problem(409)] },
      expect: { calls: ["archivedTemplate"], end: "conflict" },
    },
    {
      change: { operations, refuses: isArchived, responses: [problem(410)] },
      expect: { calls: ["archivedTemplate"], end: "rejected" },
    },
    {
      change: { operations, refuses: isArchived, responses: [problem(422)] },
      expect: { calls: ["archivedTemplate"], end: "validation" },
    },
    // An archived template still issues cards.
    {
      change: { operations, request: ({ path }) => ({ path: path.replace("archived", "club") }) },
      expect: { calls: ["archivedTemplate"], end: "value" },
    },
  ],

  "validation-order": [
    // The form is checked before the template.
    {
      change: { ofStatus: 404, responses: [problem(422)] },
      expect: { calls: ["archivedTemplate", "unknownCard"], end: "validation" },
    },
    // The form is checked before the idempotency key.
    {
      change: { operations, refuses: hasInvalidPhone, responses: [problem(422)] },
      expect: asUsual,
    },
  ],
};

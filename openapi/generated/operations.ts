/** Generated from openapi.yaml by `npm run generate`. Do not edit. */

/** The operations of the API, by their operationId: method, path below `/api/v1`, whether the request has a body, status of success. */
export const operations = {
  "issueCard": {
    "method": "POST",
    "path": "/templates/{templateId}/passes",
    "hasBody": true,
    "successStatus": 201
  },
  "getCard": {
    "method": "GET",
    "path": "/passes/{id}",
    "hasBody": false,
    "successStatus": 200
  },
  "listOperations": {
    "method": "GET",
    "path": "/passes/{id}/operations",
    "hasBody": false,
    "successStatus": 200
  },
  "getConsent": {
    "method": "GET",
    "path": "/passes/{id}/consent",
    "hasBody": false,
    "successStatus": 200
  },
  "setConsent": {
    "method": "PUT",
    "path": "/passes/{id}/consent",
    "hasBody": true,
    "successStatus": 200
  }
} as const;

/** The operationId of an operation. */
export type OperationId = keyof typeof operations;

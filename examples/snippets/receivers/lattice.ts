/** A receiver in AWS Lambda behind VPC Lattice. */
import { lambdaReceiver } from "@loyalty-cards/webhook-verify/lambda";
import { webhooks } from "./webhooks.ts";

const receive = lambdaReceiver(webhooks);
type LambdaEvent = Parameters<typeof receive>[0];

/** Version 2.0 has `isBase64Encoded`, and may have a list of values for each header. */
interface LatticeEvent {
  method: string;
  headers: Record<string, string | string[]>;
  body?: string;
  isBase64Encoded?: boolean;
  is_base64_encoded?: boolean;
}

export const handler = (event: LatticeEvent) =>
  receive({
    httpMethod: event.method,
    headers: event.headers as LambdaEvent["headers"],
    body: event.body,
    isBase64Encoded: event.isBase64Encoded ?? event.is_base64_encoded ?? false,
  });

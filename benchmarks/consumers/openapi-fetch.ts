import createClient from "openapi-fetch";
import type { paths } from "../../openapi/generated/schema.ts";

const client = createClient<paths>({ baseUrl: "https://cards.example.com/api/v1" });

export async function signUp(userId: string, phone: string): Promise<string> {
  const customer = { phone, consents: { privacy: { version: "1" } } };
  const { data, error } = await client.POST("/templates/{templateId}/passes", {
    params: { path: { templateId: "template" }, header: { "Idempotency-Key": userId } },
    headers: { authorization: "Bearer key" },
    body: { fieldValues: { name: "Anna" }, customer },
  });
  if (error !== undefined) {
    console.error(error.detail);
    throw new Error(error.title);
  }
  return data.publicUrl;
}

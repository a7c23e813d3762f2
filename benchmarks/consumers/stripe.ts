import Stripe from "stripe";

const stripe = new Stripe("key");

export async function signUp(userId: string, phone: string): Promise<string> {
  try {
    const customer = await stripe.customers.create({ phone, name: "Anna" }, { idempotencyKey: userId });
    return customer.id;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) console.error(error.code, error.type);
    throw error;
  }
}

export function readCustomer(rawBody: Buffer, signature: string): string | undefined {
  const event = stripe.webhooks.constructEvent(rawBody, signature, "whsec_secret");
  return event.type === "customer.created" ? event.data.object.id : undefined;
}

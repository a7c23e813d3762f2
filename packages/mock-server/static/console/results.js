/** Says what came of an action: the response to each webhook that it caused. */
import { get, RequestError } from "./api.js";
import { showToast } from "./dialogs.js";
import { responseText } from "./format.js";
import { waitForDelivery } from "./live.js";

const deliveryPath = (id) => `webhooks/deliveries/${encodeURIComponent(id)}`;

/** Shows what an action on a card did, and then the responses to the events that it emitted. */
export async function showCardResult(cardId, act, describe) {
  const list = (limit) => get("webhooks/deliveries", { query: cardId, limit });
  const { total: earlier } = await list(1);
  const text = describe(await act());
  const { items, total } = await list(100);
  const caused = items.slice(0, total - earlier).reverse();
  if (caused.length === 0) showToast(`${text} No endpoint gets an event.`);
  else
    void showResponses(
      text,
      caused.map((delivery) => ({ ...delivery, attempts: [] })),
    );
}

/** Shows that a delivery was sent, and then the response to its next attempt. */
export const showDeliveryResult = (text, delivery) => void showResponses(text, [delivery]);

/** @param deliveries as they were before the attempts that the text is about. */
async function showResponses(text, deliveries) {
  const show = showToast(text);
  try {
    const { items: endpoints } = await get("webhooks/endpoints");
    const attempts = await Promise.all(deliveries.map(readNextAttempt));
    const results = attempts.map((attempt, index) => {
      const { type, endpointId } = deliveries[index];
      const url = endpoints.find(({ id }) => id === endpointId)?.url;
      return `${type} → ${responseText(attempt, url)}`;
    });
    const isDelivered = attempts.every(({ status }) => status >= 200 && status < 300);
    show(`${text} ${results.join(", ")}`, isDelivered ? "done" : "error");
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    show(error.message, "error");
  }
}

async function readNextAttempt({ id, attempts: earlier }) {
  for (;;) {
    const changed = waitForDelivery();
    const { attempts } = await get(deliveryPath(id));
    if (attempts.length > earlier.length) return attempts[earlier.length];
    await changed;
  }
}

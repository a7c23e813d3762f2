/** Several machines on Redis: BullMQ stores the events. */
// #region bullmq
import {
  bullmqInbox,
  inboxHandler,
  type QueueHandler,
} from "@loyalty-cards/webhook-inbox";
import { fetchReceiver } from "@loyalty-cards/webhook-verify/fetch";
import { Queue, Worker } from "bullmq";

export async function receiveWebhooks(
  secret: string,
  url: string,
  handle: QueueHandler,
  prefix = "bull",
) {
  const queue = new Queue("loyalty", {
    prefix,
    connection: { url, enableOfflineQueue: false },
  });
  const inbox = await bullmqInbox(queue); // rejects when the queue cannot be used
  // The job of a worker that dies is stalled; by default BullMQ fails a job that
  // stalls for the second time.
  const worker = new Worker("loyalty", inboxHandler(handle), {
    prefix,
    connection: { url },
    maxStalledCount: 10,
  });
  return { receive: fetchReceiver({ secret, inbox }), queue, worker };
}
// #endregion

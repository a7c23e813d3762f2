/** A receiver for adapters that answer by themselves: somebody has to take the events over. */
import { createReceiver, type Receiver, type ReceiverOptions } from "./receiver.ts";

/** Warns when there is nobody: what is acknowledged and handed to nobody is lost. */
export function handingReceiver(options: ReceiverOptions): Receiver {
  const receive = createReceiver(options);
  if (!handsOver(options)) {
    const { log = console.error } = options;
    log(
      "webhook-verify: there is no accept, process or inbox, so every event is acknowledged and then lost.",
    );
  }
  return receive;
}

export const handsOver = ({ accept, process, inbox }: ReceiverOptions): boolean =>
  (accept ?? process ?? inbox) !== undefined;

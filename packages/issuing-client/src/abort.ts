/** Hears of an abort through one listener per signal, however many calls share that signal. */

interface Listening {
  callbacks: Set<() => void>;
  fanOut: () => void;
}

// Runtimes warn of a leak when one signal has more than ten listeners, and a wave of sign-ups has more calls.
const listening = new WeakMap<AbortSignal, Listening>();

/** Calls back when the signal is aborted. @returns how to stop listening. */
export function onAbort(signal: AbortSignal, abort: () => void): () => void {
  const { callbacks, fanOut } = listening.get(signal) ?? listen(signal);
  callbacks.add(abort);
  return () => {
    callbacks.delete(abort);
    if (callbacks.size > 0) return;
    listening.delete(signal);
    signal.removeEventListener("abort", fanOut);
  };
}

function listen(signal: AbortSignal): Listening {
  const callbacks = new Set<() => void>();
  const fanOut = () => {
    for (const callback of [...callbacks]) callback();
  };
  const started = { callbacks, fanOut };
  listening.set(signal, started);
  signal.addEventListener("abort", fanOut, { once: true });
  return started;
}

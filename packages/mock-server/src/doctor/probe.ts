/** Reads what the receiver's handler stores for a card, through the probe, and waits until it changes. */
export interface EffectState {
  /** The stored balance of the card; absent when there is none. */
  balance?: number;
  /** The number of effects for this card that must happen once per event; absent when the probe does not count them. */
  effects?: number;
}

export type Probe = ReturnType<typeof createProbe>;

/** A check could not be run. The message says why, and continues the sentence "it …". */
export class ExaminationError extends Error {
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.advice = advice;
  }
}

export const probeAdvice =
  'Let the probe respond to GET ?card=ID with JSON: { "balance": 120, "effects": 1 } as stored for the card, or {} for an unknown card. `effects` is optional.';

export interface ProbeOptions {
  url: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

const firstPauseMs = 20;
const longestPauseMs = 250;

/** Creates functions that read the state of a card. They throw {@link ExaminationError}, or the reason of the signal when it aborts. */
export function createProbe({ url, fetch, timeoutMs, signal }: ProbeOptions) {
  async function read(cardId: string): Promise<EffectState> {
    signal?.throwIfAborted();
    const address = new URL(url);
    address.searchParams.set("card", cardId);
    const timeout = AbortSignal.timeout(timeoutMs);
    let text: string;
    try {
      const response = await fetch(address.href, {
        headers: { accept: "application/json" },
        redirect: "manual",
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
      text = await response.text();
      if (response.status === 404) return {}; // no state of this card yet
      if (!response.ok) throw createError(`responded ${response.status}`);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof ExaminationError ? error : createError("did not respond");
    }
    return parseState(text);
  }

  /**
   * Reads until `isReached` holds or the time is over, and returns the last state.
   * @throws {ExaminationError} when the last read failed.
   */
  async function waitUntil(
    cardId: string,
    isReached: (state: EffectState) => boolean,
    limitMs: number,
  ): Promise<EffectState> {
    const startedMs = performance.now();
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      const isOver = performance.now() - startedMs >= limitMs;
      try {
        const state = await read(cardId);
        if (isOver || isReached(state)) return state;
      } catch (error) {
        if (isOver || !(error instanceof ExaminationError)) throw error; // else the receiver may be starting
      }
      await pause(pauseMs, signal);
    }
  }

  return { read, waitUntil };
}

/** Resolves after a time. Rejects with the reason of the signal when it aborts. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
    function end() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    }
  });
  signal?.throwIfAborted();
}

function parseState(text: string): EffectState {
  let body: unknown;
  try {
    body = text === "" ? null : JSON.parse(text);
  } catch {
    throw createError("responded without JSON");
  }
  if (body === null) return {};
  if (typeof body !== "object" || Array.isArray(body)) throw createError("did not respond with an object");
  const { balance, effects } = body as Record<string, unknown>;
  return { ...readNumber("balance", balance), ...readNumber("effects", effects) };
}

const createError = (problem: string) => new ExaminationError(`has a probe that ${problem}`, probeAdvice);

/** SQL clients return counts and decimals as strings. */
function readNumber<Name extends keyof EffectState>(name: Name, value: unknown): EffectState {
  if (value === undefined || value === null) return {};
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) {
    throw createError(`responded with a value of ${name} that is not a number`);
  }
  return { [name]: number };
}

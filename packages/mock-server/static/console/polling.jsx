/**
 * How every view follows the service: the polled clock, readings, actions with their messages, and
 * the address.
 */
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { get, readAddress, ServiceError } from "./api.js";

/** The pause between two reads. It doubles while each read has a change, or no response. */
const minPauseMs = 100;
const maxPauseMs = 1000;

/** The service responds within a second. */
const timeoutMs = 10_000;

/** @type {import("preact").Context<any>} `{ clock, isLost, perform, message, close }` */
const Service = createContext(undefined);
export const useService = () => useContext(Service);

/**
 * Polls the clock, whose `version` says when to read again, while the page is visible. The service
 * responds when the version changes, or after a moment.
 */
export function ServiceProvider({ children }) {
  const [{ clock, isLost }, setState] = useState({ clock: undefined, isLost: false });
  const [message, setMessage] = useState(/** @type {any} */ (undefined));
  const newest = useRef(/** @type {symbol | undefined} */ (undefined));

  /**
   * @param after the version that is known: the service waits for another one.
   * @returns the version; undefined without a response.
   */
  const readClock = async (after = "") => {
    const signal = AbortSignal.timeout(timeoutMs);
    const read = await get("clock", { after }, signal).catch(() => undefined);
    if (document.hidden) return after;
    setState(({ clock }) => ({ clock: read ?? clock, isLost: read === undefined }));
    return read?.version;
  };
  useEffect(() => {
    let [version, pauseMs] = ["", minPauseMs];
    async function poll() {
      if (document.hidden)
        return document.addEventListener("visibilitychange", poll, { once: true });
      const next = await readClock(version);
      pauseMs = next === version ? minPauseMs : Math.min(2 * pauseMs, maxPauseMs);
      version = next ?? version;
      setTimeout(poll, pauseMs);
    }
    void poll(); // as long as the page is open
  }, []);

  const close = () => setMessage(undefined);

  /**
   * Runs an action, and removes the message of the one before. Its argument shows a message on the
   * page that is open, until a later action begins. An error of the service is a message too.
   */
  async function perform(run) {
    const id = Symbol("action");
    newest.current = id;
    close();
    const say = (text, details = {}) => {
      const page = getPage(readAddress());
      if (newest.current === id) setMessage({ key: Symbol("message"), text, page, ...details });
    };
    try {
      await run(say);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      say(error.message, { isError: true, link: error.link });
    }
    await readClock();
  }
  return (
    <Service.Provider value={{ clock, isLost, perform, message, close }}>
      {children}
    </Service.Provider>
  );
}

/** The result of a read without a response. */
const missing = Symbol("missing");

/**
 * Reads what a view shows, and again when the service or one of the keys changed. A read without a
 * response is repeated with the next poll.
 * @param {() => Promise<any>} read
 * @returns {any} undefined before the first response; an error of the service as `{ error }`.
 */
export function useReading(read, ...keys) {
  const { clock, isLost } = useService();
  const [result, setResult] = useState(/** @type {any} */ (undefined));
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    read()
      .catch(({ status, message }) => (status === undefined ? missing : { error: message }))
      .then((data) => {
        if (!isCurrent) return;
        setMissing(data === missing);
        if (data !== missing) setResult(data);
      });
    return () => {
      isCurrent = false;
    };
  }, [clock.version, isLost, isMissing && clock, ...keys]);
  return result;
}

/** What a message belongs to: the filters of a list are the same page. */
export const getPage = ({ view, id }) => `${view}/${id}`;

/** The address after `#`, as `readAddress` returns it. */
export function useAddress() {
  const [address, setAddress] = useState(readAddress);
  useEffect(() => {
    const read = () => setAddress(readAddress());
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return address;
}

/**
 * @returns whether the service is lost, whether an action runs, and a function that performs one if
 * none runs.
 */
export function useAction() {
  const { isLost, perform } = useService();
  const [isBusy, setBusy] = useState(false);
  async function act(run) {
    if (isBusy) return; // not `disabled`, which would lose the focus
    setBusy(true);
    await perform(run);
    setBusy(false);
  }
  return { isLost, isBusy, act };
}

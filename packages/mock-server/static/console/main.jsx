/**
 * Starts the console: the bar with the clock, the view that the address names, and the messages.
 */
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { control, sayAttempts } from "./api.js";
import { Cards } from "./cards.jsx";
import { Button, Pre } from "./controls.jsx";
import { formatAhead, formatUntil } from "./duration.js";
import { ActiveFaults, FaultSelect } from "./faults.jsx";
import { formatDay, formatTime } from "./format.js";
import { Keys } from "./keys.jsx";
import { getPage, ServiceProvider, useAddress, useService } from "./polling.jsx";
import { Setup } from "./setup.jsx";
import { scrollToTop, TrafficView } from "./traffic.jsx";

const views = { "": "Traffic", cards: "Cards", setup: "Setup" };

function Console() {
  const { clock, isLost, message, close } = useService();
  const { view, id } = useAddress();
  const page = getPage({ view, id });
  const name = views[view] ?? "Traffic";
  /** @type {import("preact").RefObject<HTMLElement>} */
  const main = useRef(null);
  const isReady = clock !== undefined;
  useEffect(() => {
    document.title = `${name} – Loyalty cards`;
    // The focus lets keys scroll the view, because the page itself does not scroll.
    if (document.activeElement === document.body) main.current?.focus();
  }, [name, id, isReady]);
  useEffect(() => {
    if (message !== undefined && message.page !== page) close();
  }, [page]);
  if (clock === undefined) return isLost ? <Lost /> : null;
  return (
    <>
      <div class="page">
        <header class="bar">
          <h1>
            <a href="#/">Loyalty cards</a>
          </h1>
          <nav aria-label="Views">
            {Object.entries(views).map(([path, label]) => (
              <a
                href={`#/${path}`}
                aria-current={label === name ? "page" : undefined}
                onClick={scrollToTop}
              >
                {label}
              </a>
            ))}
            <a href="api/docs">
              API<span class="reference"> reference</span>
            </a>
          </nav>
          <div class="controls">
            <Clock />
            <FaultSelect />
            <Keys />
          </div>
        </header>
        {isLost && <Lost />}
        <ActiveFaults />
        <main ref={main} tabIndex={-1}>
          {name === "Traffic" && <TrafficView />}
          {name === "Cards" && <Cards id={id} />}
          {name === "Setup" && <Setup id={id} />}
        </main>
      </div>
      <div class="foot" role="status">
        {message && <Message {...message} />}
      </div>
    </>
  );
}

const Lost = () => (
  <p class="lost" role="alert">
    ! The mock service does not respond. Start it again with the command that started it, for
    example <code>npx loyalty-cards dev --port {location.port || 80}</code>
  </p>
);

const moves = { "+1 min": "1m", "+1 h": "1h", "+6 h": "6h" };

function Clock() {
  const { clock } = useService();
  const move = (how, body) => async (say) => {
    const { attempts } = await control("POST", `clock/${how}`, body);
    if (attempts.length === 0) say("The clock was moved. No delivery was due.");
    else await sayAttempts(say, "The clock was moved.", attempts);
  };
  const cannotMove = clock.mode === "system";
  const { nextAttemptAt } = clock;
  const ahead = formatAhead(clock.now);
  const until = nextAttemptAt && `, ${formatUntil(nextAttemptAt, clock.now)}`;
  return (
    <section class="clock" aria-label="Clock of the service">
      <div class="now">
        <time dateTime={clock.now}>
          <span class="date">{formatDay(clock.now)}</span> {formatTime(clock.now)}
        </time>
        {ahead !== "" && (
          <a href="#/setup/clock" title="How to set the clock back">
            {ahead}
          </a>
        )}
      </div>
      {Object.entries(moves).map(([label, duration]) => (
        <Button run={move("advance", { duration })} disabled={cannotMove}>
          {label}
        </Button>
      ))}
      <Button
        class="next"
        run={move("advance-to-next-delivery")}
        disabled={cannotMove || !nextAttemptAt}
      >
        Next<span class={until && "attempt"}> attempt</span>
        {until}
      </Button>
    </section>
  );
}

const messageMs = 6000;

/**
 * A failure stays until it is closed, another action begins, or another page is opened.
 * @param failure which webhooks failed although the action succeeded.
 */
function Message({ text, isError = false, failure = "", link, pre }) {
  const { close } = useService();
  const stays = isError || failure !== "";
  useEffect(() => {
    const timer = stays ? undefined : setTimeout(close, messageMs);
    return () => clearTimeout(timer);
  }, [text, stays]);
  return (
    <div class={`message ${isError ? "failed" : ""}`}>
      <p>
        {isError ? "✕" : "✓"} {text} {failure && <span class="failed">✕ {failure} </span>}
        {link && (
          <a href={link.href} onClick={close}>
            {link.label}
          </a>
        )}
      </p>
      <button type="button" aria-label="Close" onClick={close}>
        ✕
      </button>
      {pre && <Pre label="Text to copy">{pre}</Pre>}
    </div>
  );
}

render(
  <ServiceProvider>
    <Console />
  </ServiceProvider>,
  document.body,
);

/**
 * The setup: what a website needs to call the service, webhook endpoints with their secrets,
 * templates, keys, and how the clock runs.
 */
import { formatAddress } from "@loyalty-cards/internal/hostnames";
import { useEffect, useMemo, useState } from "preact/hooks";
import { control, get, sayResponses } from "./api.js";
import { IssueForm, inventMember } from "./cards.jsx";
import { Button, Copy, Form, NoWebsiteKey, Pre } from "./controls.jsx";
import { formatAhead } from "./duration.js";
import { toCurl } from "./format.js";
import { useReading, useService } from "./polling.jsx";

async function readSetup() {
  const [settings, endpoints, templates, apiKeys] = await Promise.all(
    ["settings", "webhooks/endpoints", "templates", "api-keys"].map((path) => get(path)),
  );
  return {
    settings,
    endpoints: endpoints.items,
    templates: templates.items,
    apiKeys: apiKeys.items,
  };
}

/** @param id that of a section to show. */
export function Setup({ id }) {
  const setup = useReading(readSetup);
  const isReady = setup?.templates !== undefined;
  useEffect(() => document.getElementById(id)?.scrollIntoView(), [id, isReady]);
  if (!isReady) return null;
  const { settings, endpoints, templates, apiKeys } = setup;
  return (
    <div class="setup">
      <div class="column">
        <Environment settings={settings} endpoints={endpoints} />
        <Endpoints endpoints={endpoints} events={settings.events} />
      </div>
      <div class="column">
        <Templates templates={templates} />
        <ApiKeys apiKeys={apiKeys} />
        <ClockSetting />
        <Reset />
      </div>
    </div>
  );
}

/**
 * Quotes values with `#`, `$` or spaces, which have a meaning in .env files. A seeded secret can be
 * any text.
 */
function quote(value) {
  if (/^[\w.:/-]+$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((candidate) => !value.includes(candidate)) ?? "'";
  return mark + value + mark;
}

/** The variables that the examples and the commands use. */
function Environment({ settings: { baseUrl, apiKeys, templateId }, endpoints: [endpoint] }) {
  const { website } = apiKeys;
  const values = {
    URL: baseUrl,
    ...(website && { API_KEY: website }),
    TEMPLATE_ID: templateId,
    ...(endpoint && { WEBHOOK_URL: endpoint.url, SIGNING_SECRET: endpoint.secret }),
  };
  const lines = Object.entries(values).map(([name, value]) => `LOYALTY_${name}=${quote(value)}\n`);
  return <Block title=".env" text={lines.join("")} note={!website && <NoWebsiteKey />} />;
}

/** A text to copy. */
const Block = ({ title, text, note = undefined }) => (
  <section aria-label={title}>
    <h2>
      {title} <Copy text={text} name={title} />
    </h2>
    <Pre label={`Text of ${title}`}>{text}</Pre>
    {note}
  </section>
);

/** `ping` is sent whatever is selected. */
const EndpointForm = ({
  label,
  events,
  endpoint = { url: "", events: undefined },
  run,
  cancel = undefined,
}) => (
  <Form
    label={label}
    cancel={cancel}
    run={(values, say) => run({ url: values.get("url"), events: values.getAll("events") }, say)}
  >
    <input
      name="url"
      type="url"
      required
      aria-label="Address of the receiver"
      placeholder="http://localhost:3000/webhooks/loyalty"
      defaultValue={endpoint.url}
    />
    <details open={endpoint.events !== undefined}>
      <summary>Events</summary>
      <div class="events">
        {events.map((type) => (
          <label>
            <input
              type="checkbox"
              name="events"
              value={type}
              defaultChecked={endpoint.events?.includes(type) ?? true}
            />{" "}
            {type}
          </label>
        ))}
      </div>
    </details>
  </Form>
);

const Endpoints = ({ endpoints, events }) => (
  <section aria-label="Webhook endpoints">
    <h2>Webhook endpoints</h2>
    {endpoints.map((endpoint) => (
      <Endpoint key={endpoint.id} endpoint={endpoint} events={events} />
    ))}
    {endpoints.length > 1 && <p class="note">The first one is in .env.</p>}
    <EndpointForm
      label="Add"
      events={events}
      run={async (body, say) => {
        await control("POST", "webhooks/endpoints", body);
        const secret = endpoints.length === 0 ? "in the list and in .env" : "in the list";
        say(`Added ${formatAddress(body.url)}. Its secret is ${secret}.`);
      }}
    />
  </section>
);

/** What the buttons say before they do what cannot be undone. */
const replacement = "The old one is invalid at once, also for pending retries.";
const deletion = "Its pending deliveries are not attempted again.";
const revocation = "Requests with it get a 401 from now on.";

function Endpoint({ endpoint, events }) {
  const { id, url, secret } = endpoint;
  const [isEdited, setEdited] = useState(false);
  const path = `webhooks/endpoints/${id}`;
  const name = formatAddress(url);
  const sendTest = async (say) =>
    sayResponses(say, `Created a ping for ${name}.`, [await control("POST", `${path}/test`)]);
  async function replaceSecret(say) {
    await control("POST", `${path}/new-secret`);
    say(`Replaced the secret of ${name}: copy it into the settings of the receiver.`);
  }
  async function remove(say) {
    await control("DELETE", path);
    say(`Deleted ${name}.`);
  }
  async function update(body, say) {
    await control("PATCH", path, body);
    setEdited(false);
    say(`Changed ${formatAddress(body.url)}.`);
  }
  return (
    <section class="endpoint" aria-label={url}>
      <p>
        <strong>{url}</strong>
      </p>
      {!isEdited && <p class="note">{endpoint.events.join(", ")}</p>}
      <div class="actions">
        <code>{secret}</code> <Copy text={secret} name="the secret" />
        <Button run={replaceSecret} question={`New secret for ${name}? ${replacement}`}>
          New secret
        </Button>
      </div>
      <div class="actions">
        <Button run={sendTest}>Send test</Button>
        <Button run={() => setEdited(!isEdited)} aria-expanded={isEdited}>
          Edit
        </Button>
        <Button run={remove} question={`Delete ${name}? ${deletion}`}>
          Delete
        </Button>
      </div>
      {isEdited && (
        <EndpointForm
          label="Save"
          events={events}
          endpoint={endpoint}
          run={update}
          cancel={() => setEdited(false)}
        />
      )}
    </section>
  );
}

const Templates = ({ templates }) => (
  <section aria-label="Templates">
    <h2>Templates</h2>
    {templates.map(({ id, name, fields, tiers, isArchived }) => (
      <p key={id}>
        <code>{id}</code> <strong>{name}</strong>
        {isArchived && " (archived)"}{" "}
        <span class="note">
          {fields.map(({ key, required }) => key + (required ? " (required)" : "")).join(", ") ||
            "no fields"}
          {" · "}
          {tiers.map((tier) => `${tier.name} ${tier.from}`).join(", ") || "no tiers"}
        </span>
      </p>
    ))}
  </section>
);

const keyNames = { website: "Website key", full: "Full key" };

function ApiKeys({ apiKeys }) {
  const create = (kind) => async (say) => {
    await control("POST", "api-keys", { kind });
    say("The key was created. The others stay valid until you revoke them.");
  };
  const revoke = (key) => async (say) => {
    await control("DELETE", `api-keys/${encodeURIComponent(key)}`);
    say("The key was revoked.");
  };
  return (
    <section aria-label="API keys">
      <h2>API keys</h2>
      {apiKeys.map(({ key, kind }) => (
        <div class="actions" key={key}>
          {keyNames[kind]} <code>{key}</code> <Copy text={key} name={keyNames[kind]} />
          <Button run={revoke(key)} question={`Revoke ${key}? ${revocation}`}>
            Revoke
          </Button>
        </div>
      ))}
      <p class="actions">
        {Object.entries(keyNames).map(([kind, name]) => (
          <Button key={kind} run={create(kind)}>
            New {name.toLowerCase()}
          </Button>
        ))}
      </p>
      {apiKeys.some(({ kind }) => kind === "website") ? (
        <p class="note">
          The <a href="api/docs">API reference</a> has the newest website key filled in.
        </p>
      ) : (
        <NoWebsiteKey />
      )}
    </section>
  );
}

function ClockSetting() {
  const { mode, factor = 1, now } = useService().clock;
  const set = (body) => control("PUT", "clock", body);
  const ahead = formatAhead(now);
  return (
    <section id="clock" aria-label="Clock">
      <h2>
        Clock: {mode === "manual" ? "stands still" : `runs × ${factor}`}
        {ahead && `, ${ahead}`}
      </h2>
      {ahead && (
        <p>
          Time cannot go back: your app would ignore new events as older than those that it has.
          “Start over” returns to real time, unless the program that started the service set its
          clock.
        </p>
      )}
      <div class="actions">
        <Form
          label="Run"
          run={(values) => set({ mode: "scaled", factor: Number(values.get("factor")) })}
        >
          <label>
            × <input name="factor" type="number" step="any" required defaultValue={factor} />
          </label>
        </Form>
        <Button run={() => set({ mode: "manual" })}>Stand still</Button>
      </div>
    </section>
  );
}

function Reset() {
  async function startOver(say) {
    await control("POST", "reset");
    say("The service was reset.");
  }
  return (
    <section aria-label="Reset">
      <h2>Reset</h2>
      <p>
        Deletes cards, traffic and faults, and the endpoints, templates and keys that you added.
        What the service started with stays. A clock that is ahead returns to real time, unless the
        program that started the service set its clock.
      </p>
      <div class="actions">
        <Button run={startOver} question="Delete all of this, and start over?">
          Start over
        </Button>
      </div>
    </section>
  );
}

/** What to do while there is no traffic. */
export function FirstSteps() {
  const setup = useReading(readSetup);
  const template = setup?.templates?.find(({ isArchived }) => !isArchived);
  const body = useMemo(() => template && JSON.stringify(inventMember(template)), [template?.id]);
  if (template === undefined) return null;
  const { settings, endpoints } = setup;
  const url = `${settings.baseUrl}/api/v1/templates/${template.id}/passes`;
  const { website } = settings.apiKeys;
  const authorization = `Bearer ${website}`;
  const headers = { authorization, "content-type": "application/json" };
  const curl = toCurl("POST", url, headers, body);
  return (
    <div class="setup">
      <div class="column">
        <section aria-label="First steps">
          <h2>No traffic yet</h2>
          <p>The requests of your app appear here, and the webhooks that follow.</p>
          <IssueForm templates={[template]} />
          <p>
            Or send the first request yourself.{" "}
            {endpoints.length === 0 && <a href="#/setup">Where does your app receive webhooks?</a>}
          </p>
        </section>
        {website && <Block title="curl" text={curl} />}
      </div>
      <Environment settings={settings} endpoints={endpoints} />
    </div>
  );
}

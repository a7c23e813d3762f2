/** The setup: what a website needs to call the service, webhook endpoints with their secrets, templates, keys, and how the clock runs. */
import { useState } from "preact/hooks";
import { control, get, sayResponses } from "./api.js";
import { IssueButton, inventMember } from "./cards.jsx";
import { toCurl } from "./format.js";
import { Button, Copy, Form, Pre, useReading, useService } from "./service.jsx";

async function readSetup() {
  const [settings, endpoints, templates, keys] = await Promise.all(
    ["settings", "webhooks/endpoints", "templates", "api-keys"].map((path) => get(path)),
  );
  const withSecret = async (endpoint) => ({
    ...endpoint,
    ...(await get(`webhooks/endpoints/${endpoint.id}/secret`)),
  });
  return {
    settings,
    endpoints: await Promise.all(endpoints.items.map(withSecret)),
    templates: templates.items,
    keys: keys.items,
  };
}

export function Setup() {
  const setup = useReading(readSetup);
  if (setup === undefined) return null;
  const { settings, endpoints, templates, keys } = setup;
  return (
    <div class="setup">
      <Environment settings={settings} endpoints={endpoints} />
      <section aria-label="Webhook endpoints">
        <h2>Webhook endpoints</h2>
        {endpoints.map((endpoint) => (
          <Endpoint key={endpoint.id} endpoint={endpoint} events={settings.events} />
        ))}
        {endpoints.length === 0 && (
          <p class="note">The service sends events to the addresses that you add here.</p>
        )}
        <EndpointForm
          label="Add"
          events={settings.events}
          run={async (body, say, form) => {
            await control("POST", "webhooks/endpoints", body);
            form.reset();
            say("The endpoint was added. Its secret is in the list and in .env.");
          }}
        />
      </section>
      <Templates templates={templates} />
      <section aria-label="API keys">
        <h2>API keys</h2>
        {keys.map(({ id, name, key }) => (
          <p class="actions" key={id}>
            {name || id} <code>{key}</code> <Copy text={key} name={name || id} />
          </p>
        ))}
        <p class="note">
          The <a href="api/docs">API reference</a> has the website key filled in.
        </p>
      </section>
      <ClockSetting />
    </div>
  );
}

/** Quotes values with `#`, `$` or spaces, which have a meaning in .env files. A seeded secret can be any text. */
function quote(value) {
  if (/^[\w.:/-]+$/.test(value)) return value;
  const mark = ["'", '"', "`"].find((candidate) => !value.includes(candidate)) ?? "'";
  return mark + value + mark;
}

/** The variables that the examples and `exec` use. */
function formatEnvironment({ baseUrl, apiKeys, templateId }, secret) {
  const values = {
    LOYALTY_URL: baseUrl,
    LOYALTY_API_KEY: apiKeys.website,
    LOYALTY_TEMPLATE_ID: templateId,
    ...(secret !== undefined && { LOYALTY_SIGNING_SECRET: secret }),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quote(value)}\n`)
    .join("");
}

function Environment({ settings, endpoints }) {
  const text = formatEnvironment(settings, endpoints[0]?.secret);
  return (
    <section aria-label=".env">
      <h2>
        .env <Copy text={text} name=".env" />
      </h2>
      <Pre label="Text of .env">{text}</Pre>
      {endpoints.length > 1 && <p class="note">The secret is that of {endpoints[0].url}.</p>}
    </section>
  );
}

/** `ping` is sent whatever is selected. */
const EndpointForm = ({ label, events, endpoint = { url: "", events: undefined }, run }) => (
  <Form
    class="actions"
    label={label}
    run={(values, say, form) => run({ url: values.get("url"), events: values.getAll("events") }, say, form)}
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
    </details>
  </Form>
);

function Endpoint({ endpoint, events }) {
  const { id, url, secret } = endpoint;
  const [isEdited, setEdited] = useState(false);
  const path = `webhooks/endpoints/${id}`;
  const sendTest = async (say) => sayResponses(say, "Sent.", [await control("POST", `${path}/test`)]);
  async function replaceSecret(say) {
    if (!confirm("Replace the secret? The old one is invalid at once, also for pending retries.")) return;
    await control("POST", `${path}/new-secret`);
    say("The secret was replaced: copy it into the settings of the receiver.");
  }
  async function remove(say) {
    if (!confirm(`Delete ${url}? Its pending deliveries are not attempted again.`)) return;
    await control("DELETE", path);
    say("The endpoint was deleted.");
  }
  async function update(body, say) {
    await control("PATCH", path, body);
    setEdited(false);
    say("The endpoint was changed.");
  }
  return (
    <section class="endpoint" aria-label={url}>
      <p>
        <strong>{url}</strong> <span class="note">{endpoint.events.join(", ")}</span>
      </p>
      <p class="actions">
        <code>{secret}</code> <Copy text={secret} name="the secret" />
        <Button run={sendTest}>Send test</Button>
        <Button run={() => setEdited(!isEdited)} aria-expanded={isEdited}>
          Edit
        </Button>
        <Button run={replaceSecret}>New secret</Button>
        <Button run={remove}>Delete</Button>
      </p>
      {isEdited && <EndpointForm label="Save" events={events} endpoint={endpoint} run={update} />}
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
          {fields.map(({ key, required }) => key + (required ? " (required)" : "")).join(", ") || "no fields"}
          {" · "}
          {tiers.map((tier) => `${tier.name} ${tier.from}`).join(", ") || "no tiers"}
        </span>
      </p>
    ))}
    <p class="note">A seed file or POST /_mock/templates adds others.</p>
  </section>
);

function ClockSetting() {
  const { mode, factor = 1 } = useService().clock;
  const set = (body) => control("PUT", "clock", body);
  async function startOver(say) {
    if (!confirm("Delete all cards, operations and traffic? The settings of the start stay.")) return;
    await control("POST", "reset");
    say("The service was reset.");
  }
  return (
    <section aria-label="Clock">
      <h2>Clock: {mode === "manual" ? "stands still" : `runs × ${factor}`}</h2>
      <div class="actions">
        <Form
          class="actions"
          label="Run"
          run={(values) => set({ mode: "scaled", factor: Number(values.get("factor")) })}
        >
          <label>
            × <input name="factor" type="number" step="any" required defaultValue={factor} />
          </label>
        </Form>
        <Button run={() => set({ mode: "manual" })}>Stand still</Button>
        <Button run={startOver}>Start over</Button>
      </div>
    </section>
  );
}

/** What to do while there is no traffic. */
export function FirstSteps() {
  const setup = useReading(readSetup);
  const template = setup?.templates?.find(({ isArchived }) => !isArchived);
  if (template === undefined) return null;
  const { settings, endpoints } = setup;
  const url = `${settings.baseUrl}/api/v1/templates/${template.id}/passes`;
  const headers = {
    authorization: `Bearer ${settings.apiKeys.website}`,
    "content-type": "application/json",
  };
  const curl = toCurl("POST", url, headers, JSON.stringify(inventMember(template)));
  return (
    <div class="first-steps">
      <h2>No traffic yet</h2>
      <p>Requests of your app and the webhooks that follow appear here.</p>
      <p>
        <IssueButton template={template} isOnly={true} /> or issue one from a terminal:
      </p>
      <h3>
        curl <Copy text={curl} name="curl" />
      </h3>
      <Pre label="Command">{curl}</Pre>
      <Environment settings={settings} endpoints={endpoints} />
    </div>
  );
}

# frozen_string_literal: true

# Receives the webhooks in any Rack server: LOYALTY_SIGNING_SECRET=… rackup --port 3000

# #region receiver
require_relative "loyalty_webhook"

secrets = ENV.fetch("LOYALTY_SIGNING_SECRET").split(",") # two during a rotation

# Here: insert the id into a table with a unique key, and ignore a duplicate.
store = ->(event) { warn "received #{event["type"]} #{event["id"]}" }

run(lambda do |env|
  body = env["rack.input"].read # the bytes as they arrived: not parsed, not decoded
  store.call(verify(body, env["HTTP_SERVICE_SIGNATURE"], secrets))
  [204, {}, []]
rescue Rejected => e
  warn "rejected a webhook: #{e.message}"
  [401, {}, []]
end)
# #endregion

# frozen_string_literal: true

# Receives the webhooks: LOYALTY_SIGNING_SECRET=… puma --config puma.rb --port 3000

# #region receiver
require_relative "loyalty_webhook"

# Two during a rotation, separated by a comma.
secrets = ENV.fetch("LOYALTY_SIGNING_SECRET").split(",")

# Insert the id into a table with a unique key; ignore a duplicate.
store = ->(event) { warn "#{event["type"]} #{event["id"]}" }

run(lambda do |env|
  # The bytes: not parsed, not decoded. At most 1 MiB.
  body = env["rack.input"].read(1024 * 1024 + 1).to_s
  next [413, {}, []] if body.bytesize > 1024 * 1024

  store.call(verify(body, env["HTTP_SERVICE_SIGNATURE"], secrets))
  [204, {}, []]
rescue Rejected => e
  warn "rejected a webhook: #{e.message}"
  [401, {}, []]
end)
# #endregion

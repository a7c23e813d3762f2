# frozen_string_literal: true

# Verifies webhooks of the Loyalty Card Issuing Service, with the standard library only.

require "json"
require "openssl"

# #region verify
# The message is the reason: log it, and do not send it in the response.
class Rejected < StandardError; end

# Returns the event. During a rotation there are two secrets.
def verify(body, header, secrets, now: Time.now.to_i, tolerance: 300)
  raise ArgumentError, "The signing secret is empty." if secrets.empty? || secrets.any?(&:empty?)
  raise Rejected, "missing-signature" if header.to_s.empty?

  parts = header.b.split(/,[ \t]*/, -1)
  timestamp = parts.grep(/\At=/) { $~.post_match }.join(",")
  signatures = parts.grep(/\Av1=/) { $~.post_match.downcase }
  is_well_formed = header.length <= 1024 &&
                   parts.all?(/\A[^=]+=/) &&
                   timestamp.match?(/\A[0-9]{1,12}\z/) &&
                   signatures.join(",").match?(/\A\h{64}(,\h{64}){0,4}\z/)
  raise Rejected, "malformed-signature" unless is_well_formed

  age = now - timestamp.to_i
  raise Rejected, age.positive? ? "stale" : "future" if age.abs > tolerance

  signed = "#{timestamp}.".b + body.b
  expected = secrets.map { |secret| OpenSSL::HMAC.hexdigest("SHA256", secret, signed) }
  # An array: all are compared, so that the time does not depend on which one matches.
  matches = expected.product(signatures).map { |pair| OpenSSL.secure_compare(*pair) }
  raise Rejected, "mismatch" unless matches.any?

  read_event(body)
end
# #endregion

# #region event
# Returns the event of a verified body.
def read_event(body)
  json = body.dup.force_encoding("UTF-8")
  raise Rejected, "invalid-payload" unless json.valid_encoding?

  # JSON.parse rejects half of a surrogate pair. Replaced by a NUL, it is rejected
  # below only where it matters.
  escapes = /\\ud[89ab]\h\h\\ud[c-f]\h\h|\\u(d[89a-f]\h\h)|\\./i
  json = json.gsub(escapes) { |escape| $1 ? "\\u0000" : escape }
  event = JSON.parse(json.delete_prefix("\uFEFF"), max_nesting: false)
  texts = event.is_a?(Hash) ? event.values_at("id", "type", "createdAt") : [nil]
  are_texts = texts.all?(String) && !texts.join.include?("\0")
  is_event = are_texts && texts[0].encode("UTF-16LE").bytesize.between?(2, 1024)
  is_event ? event : raise(Rejected, "invalid-payload")
rescue JSON::ParserError
  raise Rejected, "invalid-payload"
end
# #endregion

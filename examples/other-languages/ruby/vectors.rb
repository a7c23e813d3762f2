# frozen_string_literal: true

# Prints the verdict and the reason for each signature vector: ruby vectors.rb signatures.json

require_relative "loyalty_webhook"

document = JSON.parse(File.read(ARGV.fetch(0), encoding: "UTF-8"))
abort "This program reads version 1 of the vectors." unless document["version"] == 1
document["vectors"].each do |vector|
  verify(
    vector["body"].unpack1("m"),
    vector["header"].join(", "), # as HTTP joins several lines of a header
    vector["secrets"].map { |secret| secret.unpack1("m") },
    now: vector["nowSeconds"],
    tolerance: vector["toleranceSeconds"]
  )
  puts ["valid", "-", vector["name"]].join("\t")
rescue Rejected => e
  puts ["invalid", e.message, vector["name"]].join("\t")
end

# Issues a card: LOYALTY_URL, LOYALTY_API_KEY, LOYALTY_TEMPLATE_ID and USER_ID are in the environment.

# #region issue
curl --config - --fail-with-body --silent --show-error --max-time 10 --retry 3 \
  --write-out '\n' \
  "$LOYALTY_URL/api/v1/templates/$LOYALTY_TEMPLATE_ID/passes" \
  --header "Content-Type: application/json" \
  --header "Idempotency-Key: shop-production-user-$USER_ID" \
  --data '{
    "fieldValues": { "name": "Anna Kowalska" },
    "customer": {
      "phone": "+48600100200",
      "name": "Anna Kowalska",
      "consents": { "privacy": { "version": "2026-01" } }
    }
  }' <<END
header = "Authorization: Bearer $LOYALTY_API_KEY"
END
# #endregion

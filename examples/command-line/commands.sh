# The commands of the guide and of the README of the command; commands.test.ts runs them.

# #region configure
export LOYALTY_URL=https://cards.example.com
export LOYALTY_API_KEY=lk_…
export LOYALTY_TEMPLATE_ID=tpl_bakery
# #endregion

# #region doctor
npx loyalty-cards doctor
# #endregion

# #region issue
npx loyalty-cards issue --user-id 7 --privacy 2026-01 --phone +48600100200 --field name=Anna
# #endregion

# #region card
npx loyalty-cards card card_8sT2kq
# #endregion

# #region operations
npx loyalty-cards operations card_8sT2kq --limit 5
# #endregion

# #region consent
npx loyalty-cards consent card_8sT2kq
npx loyalty-cards consent card_8sT2kq --set yes --version 2026-01
# #endregion

# #region import-check
npx loyalty-cards import check members.csv --map userId=id --map phone=mobile --privacy 2026-01
# #endregion

# #region import
npx loyalty-cards import members.csv --map userId=id --map phone=mobile --privacy 2026-01 --skip-invalid --yes
# #endregion

# #region script
npx loyalty-cards issue --user-id 8 --privacy 2026-01 --json > card.json
# #endregion

# #region dev
npx loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty
# #endregion

# #region exec
npx loyalty-cards exec -- node -p process.env.LOYALTY_URL
# #endregion

# #region purchase
npx loyalty-cards purchase card_8sT2kq 120
# #endregion

# #region trigger
npx loyalty-cards trigger balance.changed --to http://localhost:3000/webhooks/loyalty \
  --card card_8sT2kq --duplicate
# #endregion

# #region webhook-sign
curl http://localhost:3000/webhooks/loyalty --data-binary @body.json \
  -H "$(npx loyalty-cards webhook sign --body body.json)"
# #endregion

# #region webhook-verify
npx loyalty-cards webhook verify --body captured.json --signature "$SIGNATURE"
# #endregion

# #region webhook-doctor
npx loyalty-cards webhook doctor http://localhost:3000/webhooks/loyalty
# #endregion

# #region webhook-listen
npx loyalty-cards webhook listen --port 4020 --to http://localhost:3000/webhooks/loyalty
# #endregion

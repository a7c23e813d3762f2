# The commands of the guides; commands.test.ts runs them.

# #region demo
git clone https://github.com/loyalty-cards/loyalty-cards
cd loyalty-cards && npm ci && npm run demo
# #endregion

# #region demo-keep
git clone https://github.com/loyalty-cards/loyalty-cards
cd loyalty-cards && npm ci && npm run demo -- --keep
# #endregion

# #region start
git clone https://github.com/loyalty-cards/loyalty-cards
cd loyalty-cards && npm ci && npm run build && npm run release:pack ../my-shop
cd ../my-shop && npm init --yes && npm pkg set type=module
npm install ./loyalty-cards-*.tgz tsx typescript @types/node
# #endregion

# #region start-npm
mkdir my-shop && cd my-shop && npm init --yes && npm pkg set type=module
npm install @loyalty-cards/{issuing-client,issuing-outbox,webhook-verify,webhook-inbox}
npm install --save-dev @loyalty-cards/{cli,mock-server} tsx typescript @types/node
# #endregion

# #region dev
npm run dev # leave it running; Ctrl-C stops it
# #endregion

# #region first-card
export LOYALTY_URL=http://127.0.0.1:4010 LOYALTY_API_KEY=mock_website_key
npm run --silent first-card
# #endregion

# #region env
cat >> .env <<END
LOYALTY_URL=http://127.0.0.1:4010
LOYALTY_API_KEY=mock_website_key
LOYALTY_TEMPLATE_ID=tpl_mock
LOYALTY_SIGNING_SECRET=whsec_mock
END
# #endregion

# #region dev-forward
npx loyalty-cards dev --forward http://localhost:3000/webhooks/loyalty
# #endregion

# #region first-card-env
npx tsx --env-file=.env first-card.ts
# #endregion

# #region install-express
npm install express && npm install --save-dev @types/express
npm install libsql # only before Node 22.13; newer versions include SQLite
# #endregion

# #region start-express
npx tsx --env-file=.env shop-express.ts
# #endregion

# #region sign-up
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Ben", "email": "ben@example.com", "phone": "600100201" }'
# #endregion

# #region users
curl http://localhost:3000/users
# #endregion

# #region port
npx @loyalty-cards/mock-server --port 4010
# #endregion

# #region exec
npx loyalty-cards exec -- npm test
# #endregion

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
npx loyalty-cards import check members.csv --map userId=id --map phone=mobile \
  --map field.name=name --privacy 2026-01
# #endregion

# #region import
npx loyalty-cards import members.csv --map userId=id --map phone=mobile \
  --map field.name=name --privacy 2026-01 --skip-invalid --yes
# #endregion

# #region purchase-card
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

# The commands of the guides; commands.test.ts runs them.

# #region start
git clone https://github.com/loyalty-cards/loyalty-cards && cd loyalty-cards
npm ci && npm run build && npm run release -- pack ../my-shop
cd ../my-shop
npm init --yes && npm pkg set type=module
npm install ./loyalty-cards-{issuing,webhook}-*.tgz
npm install --save-dev ./loyalty-cards-{cli,mock}-*.tgz tsx typescript @types/node
# #endregion

# #region dev
npx loyalty-cards dev # leave it running; Ctrl-C stops it
# #endregion

# #region first-card
export LOYALTY_URL=http://127.0.0.1:4010 LOYALTY_API_KEY=mock_website_key
npx tsx first-card.ts
# #endregion

# #region env
cat > .env <<END
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

# #region start-fastify
npx tsx --env-file=.env shop-fastify.ts
# #endregion

# Without a file, for a mock service that a test starts itself.
# #region start-shop-only
npx tsx shop-express.ts
# #endregion

# #region sign-up
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Anna", "email": "anna@example.com", "phone": "600100200" }'
# #endregion

# #region sign-up-ben
curl http://localhost:3000/sign-up -H "Content-Type: application/json" \
  -d '{ "name": "Ben", "email": "ben@example.com", "phone": "600100201" }'
# #endregion

# #region purchase
card=$(curl --silent http://localhost:3000/users | grep -o 'card_[[:alnum:]]*' | tail -n 1)
npx loyalty-cards purchase $card 120 --base-url http://localhost:4010
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
